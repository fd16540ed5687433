import { Module, type DynamicModule } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { ManagementController } from './management.controller.js';
import { ThisProcess } from './this-process.js';

/** Health and metrics, in an application of its own: never on the public port. */
@Module({})
export class ManagementModule {
  static forRoot(thisProcess: ThisProcess): DynamicModule {
    return {
      module: ManagementModule,
      // A check that fails is told to those who ask, and the log has the store's transitions.
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [ManagementController],
      providers: [{ provide: ThisProcess, useValue: thisProcess }],
    };
  }
}
