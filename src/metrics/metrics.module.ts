import { Global, Module, type DynamicModule } from '@nestjs/common';
import { Metrics } from './metrics.js';

/** Gives every module the one {@link Metrics}, where there is one: those who count ask for it `@Optional()`. */
@Global()
@Module({})
export class MetricsModule {
  static forRoot(metrics: Metrics | undefined): DynamicModule {
    const providers = metrics ? [{ provide: Metrics, useValue: metrics }] : [];
    return { module: MetricsModule, providers, exports: providers };
  }
}
