import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import { isStoreAway } from '../database/store-away.js';
import { StoreState } from '../database/store-state.js';
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
    const answer = toAnswer(fault);
    if (isStoreAway(fault)) this.store.noteAway(fault);
    else if (answer.status >= 500) this.log(http.getRequest<Request>(), fault);
    const response = http.getResponse<Response>();
    if (response.headersSent) return;
    for (const [name, value] of Object.entries(answer.headers ?? {}))
      response.setHeader(name, value);
    this.host.httpAdapter.reply(response, answer.body, answer.status);
  }

  /** A fault that a whole group of plants shares is logged once; a {@link Fault} has no cause. */
  private log({ method, path }: Request, fault: unknown): void {
    if (fault instanceof Fault || (fault instanceof Error && this.logged.has(fault))) return;
    if (fault instanceof Error) this.logged.add(fault);
    this.logger.error(`${method} ${path}: ${stackOf(fault)}`);
  }
}

/** The stack of a fault and of what caused it. Not util.inspect(), which shows a query's plants. */
function stackOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  const stack = fault.stack ?? fault.message;
  return fault.cause === undefined ? stack : `${stack}\ncaused by ${stackOf(fault.cause)}`;
}
