import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import type { PlantStoreAdapter } from '../http/plant-store.adapter.js';
import { toAnswer } from './answer.js';
import { Fault } from './fault.js';

/** Turns whatever was thrown into an answer; a cause that is not the client's goes to the log. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Errors');

  constructor(private readonly host: HttpAdapterHost<PlantStoreAdapter>) {}

  catch(fault: unknown, context: ArgumentsHost): void {
    const http = context.switchToHttp();
    const answer = toAnswer(fault);
    if (answer.status >= 500 && !(fault instanceof Fault)) {
      this.log(http.getRequest<Request>(), fault);
    }
    this.host.httpAdapter.send(http.getResponse<Response>(), answer);
  }

  private log({ method, path }: Request, fault: unknown): void {
    const cause = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
    this.logger.error(`${method} ${path}: ${cause}`);
  }
}
