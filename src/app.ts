import { Logger, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { DestinationStream } from 'pino';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import { awaitStore } from './database/open-store.js';
import { readKeyPair } from './http/key-pair.js';
import { PlantStoreAdapter } from './http/plant-store.adapter.js';
import { serveDocument } from './openapi/serve.js';
import { PlantsService } from './plants/plants.service.js';
import { ServiceLogger } from './telemetry/logger.js';

/**
 * The one way to build the application: for main, the tests and the tools.
 *
 * @param log where the lines of the log go: stdout if left out
 */
export async function createApp(
  config: Config,
  log?: DestinationStream,
): Promise<NestExpressApplication> {
  const keyPair = readKeyPair(config);
  const logger = new ServiceLogger(config, log);
  // Nest would do so itself, but later.
  Logger.overrideLogger(logger);
  const adapter = new PlantStoreAdapter(config);
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot(config, awaitStore, logger),
    adapter,
    {
      // The body is read by a pipe, behind the guard.
      bodyParser: false,
      abortOnError: false,
      logger,
      ...(keyPair && { httpsOptions: keyPair }),
    },
  );
  const plants = app.get(PlantsService);
  adapter.refuseWhile(() => plants.isFull);
  if (config.docs) serveDocument(app, config);
  return app;
}

/** The application without its HTTP interface: for the operator's commands. */
export function createContext(config: Config): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(AppModule.forRoot(config), {
    abortOnError: false,
    logger: false,
  });
}
