import {
  Global,
  Inject,
  Module,
  type DynamicModule,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { TRACING, type Tracing } from './tracing.js';

/** Gives every module the one {@link Tracing}, and ends it. */
@Global()
@Module({})
export class TracingModule implements OnApplicationShutdown {
  constructor(@Inject(TRACING) private readonly tracing: Tracing | undefined) {}

  static forRoot(tracing: Tracing | undefined): DynamicModule {
    return {
      module: TracingModule,
      providers: [{ provide: TRACING, useValue: tracing }],
      exports: [TRACING],
    };
  }

  /** Nest asks the modules that others depend on last, so every commit has come to its end. */
  async onApplicationShutdown(): Promise<void> {
    await this.tracing?.close();
  }
}
