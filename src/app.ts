import { Logger, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { DestinationStream } from 'pino';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import { awaitStore } from './database/open-store.js';
import { corsFor } from './http/cors.js';
import type { ExchangeObserver } from './http/exchange.js';
import { Exchanges } from './http/exchanges.js';
import { readKeyPair } from './http/key-pair.js';
import { mostConnections } from './http/most-connections.js';
import { PlantStoreAdapter } from './http/plant-store.adapter.js';
import { RequestLog } from './logging/request-log.js';
import { ServiceLogger } from './logging/service-logger.js';
import type { Metrics } from './metrics/metrics.js';
import { serveDocument } from './openapi/serve.js';
import { PlantWriter } from './plants/plant-writer.js';
import { openTracing } from './tracing/open-tracing.js';

/** Milliseconds that a client has at the most, when the service stops, to send the rest of its request. */
const LONGEST_PATIENCE = 10_000;

/** Who looks on at the application's work. */
export interface Watchers {
  /** Who counts; nobody does if left out. */
  readonly metrics?: Metrics | undefined;
  /** Where the lines of the log go: stdout if left out. */
  readonly log?: DestinationStream;
}

/** The one way to build the application: for main, the tests and the tools. */
export async function createApp(
  config: Config,
  { metrics, log }: Watchers = {},
): Promise<NestExpressApplication> {
  const keyPair = readKeyPair(config);
  const logger = new ServiceLogger(config, log);
  // Nest would do so itself, but later.
  Logger.overrideLogger(logger);
  const tracing = await openTracing(config);
  const patience = Math.min(LONGEST_PATIENCE, config.shutdownTimeout / 2);
  const adapter = new PlantStoreAdapter(
    new Exchanges([...requestLog(config, logger), ...(metrics ? [metrics] : [])]),
    {
      patience,
      connections: mostConnections(config.bodyLimit),
      tracing,
      cors: corsFor(config),
      reusePort: config.reusePort,
    },
  );
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot(config, awaitStore, tracing, metrics),
    adapter,
    {
      // The body is read by a pipe, behind the guard.
      bodyParser: false,
      abortOnError: false,
      logger,
      ...(keyPair && { httpsOptions: keyPair }),
    },
  );
  app.set('trust proxy', config.trustProxy);
  const writer = app.get(PlantWriter);
  adapter.refuseWhile(() => writer.isFull);
  if (config.docs) serveDocument(app, config);
  return app;
}

function requestLog({ logRequests }: Config, { pino }: ServiceLogger): ExchangeObserver[] {
  return logRequests === 'none' ? [] : [new RequestLog(pino, logRequests === 'all')];
}

/** The application without its HTTP interface: for the operator's commands. */
export function createContext(config: Config): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(AppModule.forRoot(config), {
    abortOnError: false,
    logger: false,
  });
}
