import { Module, type DynamicModule, type NestApplicationOptions } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Config } from './config/config.js';
import { DatabaseModule } from './database/database.module.js';
import { respondToClientErrors } from './http/client-errors.js';
import { Connections } from './http/connections.js';
import { Drain } from './http/drain.js';
import { ErrorFilter } from './http/error.filter.js';
import { addMiddleware } from './http/middleware.js';
import { PlantStoreAdapter } from './http/plant-store.adapter.js';
import { Routes } from './http/routes.js';
import { Shutdown } from './lifecycle/shutdown.js';
import { announceCertificate, readKeyPair } from './lifecycle/tls.js';
import { serveDocument } from './openapi/docs-page.js';
import { PlantsModule } from './plants/plants.module.js';
import { ServiceLogger } from './telemetry/logger.js';
import { RequestLog } from './telemetry/request-log.js';

/** Gives every module the {@link Config}, and what it knows of connections. It is global, so that Nest shuts it down last. */
@Module({})
export class AppModule {
  static forRoot(config: Config): DynamicModule {
    return {
      module: AppModule,
      global: true,
      imports: [DatabaseModule.forRoot(config), PlantsModule],
      providers: [
        { provide: Config, useValue: config },
        { provide: APP_FILTER, useClass: ErrorFilter },
        Connections,
        Drain,
        RequestLog,
        Routes,
        Shutdown,
      ],
      exports: [Config, Connections],
    };
  }
}

/** Builds the application: for the start, the tests and the tools. @param options Nest's, and a root module with more */
export async function createApp(
  config: Config,
  logger = new ServiceLogger(config),
  { root, ...options }: NestApplicationOptions & { readonly root?: DynamicModule } = {},
): Promise<NestExpressApplication> {
  const keyPair = readKeyPair(config);
  const app = await NestFactory.create<NestExpressApplication>(
    root ?? AppModule.forRoot(config),
    new PlantStoreAdapter(config),
    {
      ...options,
      // JsonBodyGuard reads the body, behind the token; if useBodyParser() has parsed it, by its rawBody.
      bodyParser: false,
      rawBody: true,
      abortOnError: false,
      logger,
      ...(keyPair && { httpsOptions: keyPair }),
    },
  );
  if (keyPair) announceCertificate(keyPair.expiresAt);
  respondToClientErrors(app.getHttpServer(), app.get(Connections));
  addMiddleware(app, config);
  if (config.docs) serveDocument(app, config);
  return app;
}
