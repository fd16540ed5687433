// A create that is refused: exceptions of steps 3 to 11 become an Error, which step 13 sends; steps 1 and 2 call
// toErrorResponse() themselves.
import { STATUS_CODES } from 'node:http';
import {
  Catch,
  HttpException,
  Logger,
  NotFoundException,
  type ArgumentsHost,
} from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import type { Request, Response } from 'express';
import { formatStack } from '../errors/operator-message.js';
import type { ErrorDto } from '../errors/error.dto.js';
import {
  ERRORS,
  ApiException,
  HTTP_EXCEPTION,
  type ErrorCode,
  type LogMembers,
} from '../errors/error-codes.js';
import { describePath } from './request-context.js';

/** A response with an Error body. */
export interface ErrorResponse {
  readonly status: number;
  readonly body: ErrorDto;
  /** Headers besides those of every response, names and values in turn. */
  readonly headers: readonly string[];
  readonly details?: LogMembers | undefined;
}

/**
 * Maps an exception to a response. An {@link ApiException} and Nest's exceptions show their own message to the client,
 * except Nest's of 5xx, which keep their status only. Anything else is an internal error.
 */
export function toErrorResponse(error: unknown): ErrorResponse {
  if (error instanceof ApiException)
    return { ...createErrorResponse(error.kind, error.message), details: error.details };
  if (!(error instanceof HttpException)) return createErrorResponse(ERRORS.INTERNAL);
  const status = error.getStatus();
  const message = status < 500 ? getMessage(error) : ERRORS.INTERNAL.message;
  return createErrorResponse({ error: HTTP_EXCEPTION, status, message });
}

function createErrorResponse(kind: ErrorCode, message = kind.message): ErrorResponse {
  const headers = Object.entries(kind.headers ?? {}).flat();
  return { status: kind.status, body: { error: kind.error, message }, headers };
}

/** Gets the message that Nest would send; if its response is an Error, which may reveal internals, that of the status. */
function getMessage(error: HttpException): string {
  const response: unknown = error.getResponse();
  if (Error.isError(response)) return STATUS_CODES[error.getStatus()] ?? 'Error';
  if (typeof response === 'string') return response;
  const { message } = (response ?? {}) as { readonly message?: unknown };
  // ValidationPipe has a list.
  if (Array.isArray(message)) return message.join('; ');
  return typeof message === 'string' ? message : error.message;
}

/** Sends an Error. */
export function sendError(response: Response, refusal: ErrorResponse): void {
  const { status, body, headers, details } = refusal;
  response.context.error = body.error;
  response.context.details = details;
  response.sendJson(status, body, headers);
}

/** Responds to an exception. Logs it unless the response names it. */
@Catch()
export class ErrorFilter extends BaseExceptionFilter {
  private readonly log = new Logger('Errors');
  private readonly logged = new WeakSet<Error>();

  override catch(error: unknown, context: ArgumentsHost): void {
    const http = context.switchToHttp();
    const [request, response] = [http.getRequest<Request>(), http.getResponse<Response>()];
    const refusal = toErrorResponse(this.toException(error, request));
    if (refusal.status >= 500 || response.headersSent) this.logOnce(request, response, error);
    if (!response.headersSent) sendError(response, refusal);
    // A body that ends early tells the client that it is incomplete.
    else if (!response.writableEnded) response.destroy();
  }

  /** Recognises what Nest's own filter does: errors of http-errors' form, and that no route matches. */
  private toException(error: unknown, { method, originalUrl }: Request): unknown {
    if (error instanceof NotFoundException && error.message === `Cannot ${method} ${originalUrl}`)
      return new ApiException(ERRORS.NO_SUCH_PATH);
    if (error instanceof ApiException || error instanceof HttpException || !this.isHttpError(error))
      return error;
    return new HttpException(this.getHttpErrorMessage(error), error.statusCode, { cause: error });
  }

  /** Logs an error once that many requests share, such as those that wait for one lookup of their tokens. */
  private logOnce(request: Request, { context }: Response, error: unknown): void {
    if (error instanceof ApiException || (error instanceof Error && this.logged.has(error))) return;
    if (error instanceof Error) this.logged.add(error);
    const { requestId } = context;
    this.log.error(`${request.method} ${describePath(request)} failed`, formatStack(error), {
      requestId,
    });
  }
}
