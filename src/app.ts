import { Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Config } from './config/config.js';
import { DatabaseModule } from './database/database.module.js';
import { ErrorFilter } from './http/answer.js';
import { readKeyPair } from './http/key-pair.js';
import { PlantStoreAdapter } from './http/plant-store.adapter.js';
import { serveDocument } from './openapi/document.js';
import { PlantsModule } from './plants/plants.module.js';
import { ServiceLogger } from './telemetry/logger.js';
import { RequestLog } from './telemetry/request-log.js';

/** Gives every module the {@link Config}. It is global, so that Nest shuts its telemetry down last. */
@Module({})
class AppModule {
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

/** The one way to build the application: for main, the tests and the tools. */
export async function createApp(
  config: Config,
  logger = new ServiceLogger(config),
): Promise<NestExpressApplication> {
  const keyPair = readKeyPair(config);
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot(config, logger),
    new PlantStoreAdapter(config),
    {
      // The controller reads the body, after the guard.
      bodyParser: false,
      abortOnError: false,
      logger,
      ...(keyPair && { httpsOptions: keyPair }),
    },
  );
  if (config.docs) serveDocument(app, config);
  return app;
}
