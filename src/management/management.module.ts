import {
  Catch,
  Module,
  NotFoundException,
  type ArgumentsHost,
  type DynamicModule,
  type ExceptionFilter,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import type { Response } from 'express';
import { Fault } from '../errors/errors.js';
import { toAnswer } from '../http/error.filter.js';
import { ManagementController } from './management.controller.js';
import { ThisProcess } from './this-process.js';

/** Gives what is not there the service's Error body; a check that failed keeps its own. */
@Catch(NotFoundException, Fault)
class NotThereFilter implements ExceptionFilter {
  catch(fault: unknown, context: ArgumentsHost): void {
    const { status, body } = toAnswer(fault);
    context.switchToHttp().getResponse<Response>().status(status).json(body);
  }
}

/** Health and metrics, in an application of its own: never on the public port. */
@Module({})
export class ManagementModule {
  static forRoot(thisProcess: ThisProcess): DynamicModule {
    return {
      module: ManagementModule,
      // A check that fails is told to those who ask, and the log has the store's transitions.
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [ManagementController],
      providers: [
        { provide: ThisProcess, useValue: thisProcess },
        { provide: APP_FILTER, useClass: NotThereFilter },
      ],
    };
  }
}
