import { STATUS_CODES } from 'node:http';
import {
  Catch,
  HttpException,
  Injectable,
  Logger,
  NotFoundException,
  Optional,
  type ArgumentsHost,
} from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import type { NextFunction, Request, Response } from 'express';
import { QueryFailedError } from 'typeorm';
import { StoreInspection } from '../database/inspection.js';
import { formatStack } from '../errors/operator-message.js';
import type { ErrorDto } from '../errors/error.dto.js';
import {
  ERRORS,
  ApiException,
  HTTP_EXCEPTION,
  StoreUnavailableException,
} from '../errors/error-codes.js';
import { describeOperation } from './request-context.js';
import { Routes } from './routes.js';
import { refusals } from './turns.js';

/** Maps an exception to what the client may see: HttpExceptions from 500 show the status only; any other error nothing. */
function toApiException(error: unknown): ApiException {
  if (error instanceof ApiException) return error;
  if (!(error instanceof HttpException)) return new ApiException(ERRORS.INTERNAL);
  const status = error.getStatus();
  const message = status < 500 ? getMessage(error) : ERRORS.INTERNAL.message;
  return new ApiException({ error: HTTP_EXCEPTION, status, message });
}

/** Gets the message that Nest would send; that of the status if Nest's response is an Error, which may reveal internals. */
function getMessage(error: HttpException): string {
  const response: unknown = error.getResponse();
  if (Error.isError(response)) return STATUS_CODES[error.getStatus()] ?? 'Error';
  const { message } = (response ?? {}) as { readonly message?: unknown };
  // ValidationPipe has a list.
  return Array.isArray(message) ? message.join('; ') : error.message;
}

/** Overrides headers that a half-prepared response has, such as a 416 of a static file. */
const ERROR_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' };

export function sendError(response: Response, { kind, message }: ApiException): void {
  const body = { error: kind.error, message } satisfies ErrorDto;
  response.status(kind.status).set(ERROR_HEADERS).json(body);
}

/** Responds to every exception with an Error body, and logs those whose reason the response hides. */
@Catch()
@Injectable()
export class ErrorFilter extends BaseExceptionFilter {
  private readonly log = new Logger('Errors');
  private readonly logged = new WeakSet<Error>();

  /** @param inspection the management has none: it opens no store */
  constructor(
    private readonly routes: Routes,
    @Optional() private readonly inspection?: StoreInspection,
  ) {
    super();
  }

  override catch(error: unknown, context: ArgumentsHost): void {
    const http = context.switchToHttp();
    const [request, response] = [http.getRequest<Request>(), http.getResponse<Response>()];
    const exception = toApiException(this.recognize(error, request));
    // client-errors.ts has sent an Error, which makes the handler fail.
    if (response.writableEnded && response.context?.error !== undefined) return;
    if (exception.kind.status >= 500 || response.headersSent)
      this.logOnce(request, response, error);
    if (!response.headersSent) {
      response.context?.fail(exception);
      // They are set before the refusal waits for its turn, as `connection: close` stops the next pipelined request.
      response.set(exception.kind.headers);
      const send = () => sendError(response, exception);
      refusals.take(request).then(send).catch(http.getNext<NextFunction>());
    }
    // The client learns that the body is incomplete. Node never destroys a response that is queued behind another.
    else if (!response.writableEnded) request.socket.destroy();
  }

  /** Maps errors of others: an unmatched route, those of middleware (npmjs.com/package/http-errors), the store's. */
  private recognize(error: unknown, request: Request): unknown {
    const { method, originalUrl } = request;
    // Handlers throw this class too.
    if (error instanceof NotFoundException && error.message === `Cannot ${method} ${originalUrl}`)
      return this.routes.createRefusal(originalUrl.split('?', 1)[0] ?? '');
    if (!(error instanceof HttpException) && this.isHttpError(error))
      return new HttpException(this.getHttpErrorMessage(error), error.statusCode, { cause: error });
    const isOfStore =
      error instanceof QueryFailedError || error instanceof StoreUnavailableException;
    return isOfStore && this.inspection ? this.inspection.recordFailure(error) : error;
  }

  /** Logs an error once, even if many requests share it, such as those that wait for one token lookup. */
  private logOnce(request: Request, { context }: Response, error: unknown): void {
    if (error instanceof ApiException || (error instanceof Error && this.logged.has(error))) return;
    if (error instanceof Error) this.logged.add(error);
    this.log.error(`${describeOperation(request)} failed`, formatStack(error), {
      requestId: context?.requestId,
    });
  }
}
