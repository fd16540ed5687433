import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import { isStoreAway } from '../database/store-away.js';
import { StoreState } from '../database/store-state.js';
import { exchangeOf } from '../http/exchange.js';
import { pathOf } from '../http/path-of.js';
import { stackOf } from './describe.js';
import { toAnswer } from './answer.js';
import { Fault } from './fault.js';

/** Turns whatever was thrown into an answer; a cause that is not the client's goes to the log. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Errors');
  private readonly logged = new WeakSet<Error>();

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly store: StoreState,
  ) {}

  catch(fault: unknown, context: ArgumentsHost): void {
    const http = context.switchToHttp();
    const response = http.getResponse<Response>();
    const answer = toAnswer(fault);
    if (isStoreAway(fault)) this.store.markUnavailable(fault);
    else if (answer.status >= 500) this.log(http.getRequest<Request>(), response, fault);
    if (response.headersSent) return;
    for (const [name, value] of Object.entries(answer.headers ?? {}))
      response.setHeader(name, value);
    this.host.httpAdapter.reply(response, answer.body, answer.status);
  }

  /** A fault that a whole group of plants shares is logged once; a {@link Fault} has no cause. */
  private log(request: Request, response: Response, fault: unknown): void {
    if (fault instanceof Fault || (fault instanceof Error && this.logged.has(fault))) return;
    if (fault instanceof Error) this.logged.add(fault);
    const { requestId } = exchangeOf(response);
    this.logger.error(`${request.method} ${pathOf(request)} failed`, stackOf(fault), { requestId });
  }
}
