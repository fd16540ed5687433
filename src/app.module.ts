import {
  Module,
  type DynamicModule,
  type NestApplicationOptions,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { APP_FILTER, DiscoveryModule, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import {
  contentSecurityPolicy,
  strictTransportSecurity,
  xContentTypeOptions,
  xFrameOptions,
} from 'helmet';
import { Config } from './config/config.js';
import { readKeyPair } from './config/key-pair.js';
import { DatabaseModule } from './database/database.module.js';
import { createChecks, respondToClientErrors } from './http/client-errors.js';
import { Connections } from './http/connections.js';
import { ErrorFilter } from './http/error.filter.js';
import { PlantStoreAdapter } from './http/plant-store.adapter.js';
import { serveDocument } from './openapi/docs-page.js';
import { buildDocument } from './openapi/document.js';
import { MethodNotAllowedFilter, Operations } from './openapi/operations.js';
import { GroupCommit } from './plants/group-commit.js';
import { PlantsModule } from './plants/plants.module.js';
import { Shutdown } from './shutdown.js';
import { ServiceLogger } from './telemetry/logger.js';
import { RequestLog } from './telemetry/request-log.js';
import { announceCertificate } from './tls.js';

/** Gives every module the {@link Config}. It is global, so that Nest shuts its telemetry down last. */
@Module({})
export class AppModule implements OnApplicationShutdown {
  constructor(private readonly shutdown: Shutdown) {}

  /** Nest calls it when all else is closed. */
  onApplicationShutdown(signal?: string): void {
    this.shutdown.conclude(signal);
  }

  static forRoot(config: Config, { pino }: ServiceLogger): DynamicModule {
    return {
      module: AppModule,
      global: true,
      imports: [DatabaseModule.forRoot(config), DiscoveryModule, PlantsModule],
      providers: [
        { provide: Config, useValue: config },
        // Nest asks the last one first.
        { provide: APP_FILTER, useClass: ErrorFilter },
        { provide: APP_FILTER, useClass: MethodNotAllowedFilter },
        Connections,
        Operations,
        // Nobody injects this and the tracing: they subscribe to what others publish.
        {
          provide: RequestLog,
          inject: [Operations],
          useFactory: (operations: Operations) => new RequestLog(pino, config, operations),
        },
        Shutdown,
        { provide: Symbol('Tracing'), useFactory: () => openTracing(config) },
      ],
      exports: [Config],
    };
  }
}

/** JSON loads nothing, and nobody frames it (OWASP REST Security Cheat Sheet); docs-page.ts has another policy. */
const NOTHING = { defaultSrc: ["'none'"], frameAncestors: ["'none'"] };

/** Loads OpenTelemetry only if the configuration names a collector. */
async function openTracing(config: Config) {
  if (config.otlpEndpoint === undefined) return undefined;
  const { Tracing } = await import('./telemetry/tracing.js');
  return new Tracing(config);
}

/** Builds the application: for the start, the tests and the tools. @param options Nest's, and a root module with more */
export async function createApp(
  config: Config,
  logger = new ServiceLogger(config),
  { root, ...options }: NestApplicationOptions & { readonly root?: DynamicModule } = {},
): Promise<NestExpressApplication> {
  const keyPair = readKeyPair(config);
  const app = await NestFactory.create<NestExpressApplication>(
    root ?? AppModule.forRoot(config, logger),
    new PlantStoreAdapter(config),
    {
      ...options,
      // @JsonBody() reads the body, behind the guards; if useBodyParser() has parsed it, by its rawBody.
      bodyParser: false,
      rawBody: true,
      abortOnError: false,
      logger,
      ...(keyPair && { httpsOptions: keyPair }),
    },
  );
  if (keyPair) announceCertificate(keyPair.expiresAt);
  const [connections, operations] = [app.get(Connections), app.get(Operations)];
  const groups = app.get(GroupCommit);
  operations.describeBy(() => buildDocument(app, config));
  respondToClientErrors(app.getHttpServer(), connections);
  // In the order in which they run, before the guards.
  app.use(connections.createContext());
  app.use(contentSecurityPolicy({ useDefaults: false, directives: NOTHING }));
  app.use(xContentTypeOptions(), xFrameOptions({ action: 'deny' }));
  if (keyPair) app.use(strictTransportSecurity({ includeSubDomains: false }));
  if (config.corsOrigins.length > 0)
    app.enableCors(operations.createCorsOptions(config.corsOrigins));
  app.use(createChecks(connections, () => groups.isFull));
  if (config.docs) serveDocument(app, config);
  return app;
}
