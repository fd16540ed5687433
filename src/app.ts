import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { DestinationStream } from 'pino';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import { readKeyPair } from './http/key-pair.js';
import { PlantStoreAdapter } from './http/plant-store.adapter.js';
import { serveDocument } from './openapi/serve.js';
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
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot(config, logger),
    new PlantStoreAdapter(config),
    {
      // The body is read by a pipe, behind the guard.
      bodyParser: false,
      abortOnError: false,
      logger,
      ...(keyPair && { httpsOptions: keyPair }),
    },
  );
  if (config.docs) serveDocument(app, config);
  return app;
}
