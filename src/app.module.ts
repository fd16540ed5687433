// A start, step 4 of 6: the root module.
import { Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Config } from './config/config.js';
import { DatabaseModule } from './database/database.module.js';
import { ErrorFilter } from './http/error.filter.js';
import { PlantsModule } from './plants/plants.module.js';
import type { ServiceLogger } from './telemetry/logger.js';
import { RequestLog } from './telemetry/request-log.js';

/** Gives every module the {@link Config}. It is global, so that Nest shuts its telemetry down last. */
@Module({})
export class AppModule {
  static forRoot(config: Config, { pino }: ServiceLogger): DynamicModule {
    return {
      module: AppModule,
      global: true,
      imports: [DatabaseModule.forRoot(config), PlantsModule],
      providers: [
        { provide: Config, useValue: config },
        { provide: APP_FILTER, useClass: ErrorFilter },
        { provide: RequestLog, useFactory: () => new RequestLog(pino, config) },
        { provide: Symbol('Tracing'), useFactory: () => openTracing(config) },
      ],
      exports: [Config],
    };
  }
}

/** Loads OpenTelemetry only if the configuration names a collector. */
async function openTracing(config: Config) {
  if (config.otlpEndpoint === undefined) return undefined;
  const { Tracing } = await import('./telemetry/tracing.js');
  return new Tracing(config);
}
