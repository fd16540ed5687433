// A start, step 4 of 6: the root module, and the application that is made of it.
import { Module, type DynamicModule, type NestApplicationOptions } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Config } from './config/config.js';
import { DatabaseModule } from './database/database.module.js';
import { createCorsOptions } from './http/cors.js';
import { ErrorFilter } from './http/error.filter.js';
import { PlantStoreAdapter } from './http/plant-store.adapter.js';
import { announceCertificate, readKeyPair } from './http/tls.js';
import { serveDocument } from './openapi/docs-page.js';
import { GroupCommit } from './plants/group-commit.js';
import { PlantsModule } from './plants/plants.module.js';
import { ServiceLogger } from './telemetry/logger.js';
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

/**
 * The one way to build the application: for the start, the tests and the tools.
 *
 * @param options Nest's, and the root module if the application has more than the service
 */
export async function createApp(
  config: Config,
  logger = new ServiceLogger(config),
  { root, ...options }: NestApplicationOptions & { readonly root?: DynamicModule } = {},
): Promise<NestExpressApplication> {
  const keyPair = readKeyPair(config);
  const adapter = new PlantStoreAdapter(config);
  const module = root ?? AppModule.forRoot(config, logger);
  const app = await NestFactory.create<NestExpressApplication>(module, adapter, {
    ...options,
    // `@JsonText()` and `@JsonBody()` read the body, behind the guards.
    bodyParser: false,
    abortOnError: false,
    logger,
    ...(keyPair && { httpsOptions: keyPair }),
  });
  if (keyPair) announceCertificate(keyPair);
  if (config.corsOrigins.length > 0) app.enableCors(createCorsOptions(config, adapter));
  const groups = app.get(GroupCommit);
  adapter.refuseWhile(() => groups.isFull);
  if (config.docs) serveDocument(app, config);
  return app;
}
