import {
  BadGatewayException,
  BadRequestException,
  Catch,
  ConflictException,
  GoneException,
  HttpException,
  Injectable,
  NotFoundException,
  type ArgumentsHost,
  type CallHandler,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
  type NestMiddleware,
} from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { map, type Observable } from 'rxjs';
import { PlantsController } from '../../src/plants/plants.controller.js';

/** Middleware, interceptors and filters as Nest's documentation has them. */

@Injectable()
export class NoteMiddleware implements NestMiddleware {
  use(request: Request, response: Response, next: NextFunction): void {
    response.setHeader('x-module-middleware', `${request.method} ${request.path}`);
    next();
  }
}

export class GlobalInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler<object>): Observable<unknown> {
    context.switchToHttp().getResponse<Response>().setHeader('x-global-interceptor', 'seen');
    const isPlant = context.getClass() === PlantsController;
    return next.handle().pipe(map((body) => (isPlant ? { ...body, global: true } : body)));
  }
}

export async function waitAndThrow({ query }: Request, _response: Response, next: NextFunction) {
  await Promise.resolve();
  if (query.middleware === 'throws') throw new NotFoundException('by middleware');
  next();
}

@Catch(GoneException)
export class GoneFilter implements ExceptionFilter {
  catch(_error: GoneException, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(410).json({ gone: true });
  }
}

const INTERNAL = { error: 5000, message: 'internal error' };

/** What a handler may throw, and the response. The log has the reason of a 5xx. */
export const FORMS: Readonly<
  Record<string, readonly [thrown: unknown, status: number, body: object]>
> = {
  "Nest's": [new ConflictException('taken'), 409, { error: 3005, message: 'taken' }],
  'a 5xx': [new BadGatewayException('why'), 502, { error: 3005, message: 'internal error' }],
  'for a filter of a module': [new GoneException(), 410, { gone: true }],
  object: [new HttpException({ a: 1 }, 409), 409, { error: 3005, message: 'Http Exception' }],
  list: [new BadRequestException(['a', 'b']), 400, { error: 3005, message: 'a; b' }],
  error: [
    new BadRequestException(new Error('secret')),
    400,
    { error: 3005, message: 'Bad Request' },
  ],
  nothing: [
    new HttpException(null as unknown as string, 400),
    400,
    { error: 3005, message: 'Http Exception' },
  ],
  'http-errors': [
    Object.assign(new Error('large'), { status: 413, statusCode: 413, expose: true }),
    ...([413, { error: 3005, message: 'large' }] as const),
  ],
  plain: [{ statusCode: 404, message: 'no note' }, 404, { error: 3005, message: 'no note' }],
  internal: [new Error('an inner secret'), 500, INTERNAL],
  status: [Object.assign(new Error('with a status'), { status: 400 }), 500, INTERNAL],
  undefined: [undefined, 500, INTERNAL],
};
