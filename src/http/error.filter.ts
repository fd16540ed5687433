import {
  Catch,
  HttpException,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { formatStack } from '../errors/describe.js';
import type { ErrorDto } from '../errors/error.dto.js';
import { ERRORS, Fault, HTTP_EXCEPTION, type ErrorKind } from '../errors/errors.js';
import { describePath } from './exchange.js';

/** An answer with an Error body. */
export interface ErrorAnswer {
  readonly status: number;
  readonly body: ErrorDto;
  /** Headers besides those of every answer, names and values in turn. */
  readonly headers: readonly string[];
}

/**
 * Maps what was thrown to an answer. A {@link Fault} and Nest's exceptions show their own message to the client, unless
 * it is about the insides of the service: an exception of 5xx keeps its status, anything else is an internal error.
 */
export function toAnswer(error: unknown): ErrorAnswer {
  if (error instanceof Fault) return createAnswer(error.kind, error.message);
  if (!(error instanceof HttpException)) return createAnswer(ERRORS.INTERNAL);
  const status = error.getStatus();
  const message = status < 500 ? getMessage(error) : ERRORS.INTERNAL.message;
  return createAnswer({ error: HTTP_EXCEPTION, status, message });
}

function createAnswer(kind: ErrorKind, message = kind.message): ErrorAnswer {
  const headers = Object.entries(kind.headers ?? {}).flat();
  return { status: kind.status, body: { error: kind.error, message }, headers };
}

/** Gets what Nest would send: ValidationPipe has a list of messages. */
function getMessage(error: HttpException): string {
  const response = error.getResponse();
  const { message } =
    typeof response === 'object' ? (response as { message?: string | string[] }) : {};
  return [message ?? error.message].flat().join('; ');
}

/** Sends an Error. */
export function sendError(response: Response, { status, body, headers }: ErrorAnswer): void {
  response.exchange.error = body.error;
  response.sendJson(status, body, headers);
}

/** Answers with what was thrown, and logs every error of 5xx that is no {@link Fault}. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Errors');
  private readonly logged = new WeakSet<Error>();

  catch(error: unknown, context: ArgumentsHost): void {
    const http = context.switchToHttp();
    const response = http.getResponse<Response>();
    const answer = toAnswer(error);
    if (answer.status >= 500) this.log(http.getRequest<Request>(), response, error);
    // A body that ends without its end tells the client that it is not whole.
    if (response.headersSent) response.destroy();
    else sendError(response, answer);
  }

  /** Logs an error once that a whole group of plants shares. */
  private log(request: Request, { exchange }: Response, error: unknown): void {
    if (error instanceof Fault || (error instanceof Error && this.logged.has(error))) return;
    if (error instanceof Error) this.logged.add(error);
    const { requestId } = exchange;
    this.logger.error(`${request.method} ${describePath(request)} failed`, formatStack(error), {
      requestId,
    });
  }
}
