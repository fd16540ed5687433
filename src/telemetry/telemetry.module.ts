import { Global, Module, type DynamicModule } from '@nestjs/common';
import type { Config } from '../config/config.js';
import type { ServiceLogger } from './logger.js';
import { RequestLog } from './request-log.js';

const TRACING = Symbol('tracing');

/** Those who look on at an application's work, from its start to its end: they subscribe to what its rooms publish. */
@Global()
@Module({})
export class TelemetryModule {
  static forRoot(config: Config, { pino }: ServiceLogger): DynamicModule {
    return {
      module: TelemetryModule,
      providers: [
        { provide: RequestLog, useFactory: () => new RequestLog(pino, config) },
        { provide: TRACING, useFactory: () => openTracing(config) },
      ],
    };
  }
}

/** Loads OpenTelemetry where the configuration names a collector, and only there. */
async function openTracing(config: Config) {
  if (config.otlpEndpoint === undefined) return undefined;
  const { Tracing } = await import('./tracing.js');
  return new Tracing(config);
}
