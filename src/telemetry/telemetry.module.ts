import { Module, type DynamicModule } from '@nestjs/common';
import type { Config } from '../config/config.js';
import type { ServiceLogger } from './logger.js';
import { RequestLog } from './request-log.js';

/** Subscribes to what the app publishes. It is global, so that Nest shuts it down last. */
@Module({})
export class TelemetryModule {
  static forRoot(config: Config, { pino }: ServiceLogger): DynamicModule {
    const providers = [
      { provide: RequestLog, useFactory: () => new RequestLog(pino, config) },
      { provide: 'Tracing', useFactory: () => openTracing(config) },
    ];
    return { module: TelemetryModule, global: true, providers };
  }
}

/** Loads OpenTelemetry only if the configuration names a collector. */
async function openTracing(config: Config) {
  if (config.otlpEndpoint === undefined) return undefined;
  const { Tracing } = await import('./tracing.js');
  return new Tracing(config);
}
