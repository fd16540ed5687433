import {
  Catch,
  HttpException,
  Logger,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import { formatStack } from '../errors/describe.js';
import type { ErrorDto } from '../errors/error.dto.js';
import { ERRORS, Fault, type ErrorKind } from '../errors/errors.js';
import { exchangeOf, pathOf } from './exchange.js';

/** A JSON answer as it goes on the wire; `headers` are those that not every answer carries. */
export interface Answer<Body extends object = object> {
  readonly status: number;
  readonly body: Body;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Turns whatever was thrown into an answer. Only a {@link Fault} speaks to the client in its own
 * words; the insides of every other error stay inside.
 */
export function toAnswer(fault: unknown): Answer<ErrorDto> {
  if (fault instanceof Fault) return answer(fault.kind, fault.message);
  if (fault instanceof HttpException) return answer(kindOfStatus(fault.getStatus()));
  return answer(ERRORS.INTERNAL);
}

function answer(kind: ErrorKind, message = kind.message): Answer<ErrorDto> {
  return { status: kind.status, body: { error: kind.error, message }, headers: kind.headers ?? {} };
}

/** Nest and Express throw by status; the table knows fewer statuses than HTTP. */
function kindOfStatus(status: number): ErrorKind {
  if (status === 404) return ERRORS.NO_SUCH_PATH;
  return status < 500 ? ERRORS.BAD_REQUEST : ERRORS.INTERNAL;
}

/** Answers with what was thrown; an error that is no {@link Fault} goes to the log as well. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Errors');
  private readonly logged = new WeakSet<Error>();

  constructor(private readonly host: HttpAdapterHost) {}

  catch(fault: unknown, context: ArgumentsHost): void {
    const http = context.switchToHttp();
    const response = http.getResponse<Response>();
    const { status, body, headers = {} } = toAnswer(fault);
    if (status >= 500) this.log(http.getRequest<Request>(), response, fault);
    if (response.headersSent) return;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    this.host.httpAdapter.reply(response, body, status);
  }

  /** An error that a whole group of plants shares is logged once. */
  private log(request: Request, response: Response, fault: unknown): void {
    if (fault instanceof Fault || (fault instanceof Error && this.logged.has(fault))) return;
    if (fault instanceof Error) this.logged.add(fault);
    const { requestId } = exchangeOf(response);
    this.logger.error(`${request.method} ${pathOf(request)} failed`, formatStack(fault), {
      requestId,
    });
  }
}
