import { Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Config } from './config/config.js';
import { ConfigModule } from './config/config.module.js';
import { DatabaseModule } from './database/database.module.js';
import { openStore } from './database/open-store.js';
import { ErrorFilter } from './errors/error.filter.js';
import type { Metrics } from './metrics/metrics.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { PlantsModule } from './plants/plants.module.js';
import type { Tracing } from './tracing/tracing.js';
import { TracingModule } from './tracing/tracing.module.js';

@Module({})
export class AppModule {
  /**
   * @param open how the store is opened: {@link openStore} or {@link awaitStore}
   * @param metrics who counts; nobody does if left out
   */
  static forRoot(
    config: Config,
    open = openStore,
    tracing?: Tracing,
    metrics?: Metrics,
  ): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        DatabaseModule.forRoot(config, open),
        TracingModule.forRoot(tracing),
        MetricsModule.forRoot(metrics),
        PlantsModule,
      ],
      providers: [{ provide: APP_FILTER, useClass: ErrorFilter }],
    };
  }
}
