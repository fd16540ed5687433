// A start, step 4 of 6: creates the application; start.ts has it listen (step 5).
import type { DynamicModule, NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import { createCorsOptions } from './http/cors.js';
import { announceCertificate, readKeyPair } from './http/tls.js';
import { PlantStoreAdapter } from './http/plant-store.adapter.js';
import { serveDocument } from './openapi/docs-page.js';
import { GroupCommit } from './plants/group-commit.js';
import { ServiceLogger } from './telemetry/logger.js';

/**
 * The one way to build the application: for main, the tests and the tools.
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
  if (config.corsOrigins.length > 0) app.enableCors(createCorsOptions(config, adapter.routes));
  const groups = app.get(GroupCommit);
  adapter.refuseWhile(() => groups.isFull);
  if (config.docs) serveDocument(app, config);
  // Behind the pages, which are no operations.
  adapter.routes.recordFrom(adapter);
  return app;
}
