import { Logger, Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { DestinationStream } from 'pino';
import { Config } from './config/config.js';
import { DatabaseModule } from './database/database.module.js';
import { ErrorFilter } from './http/answer.js';
import { readKeyPair } from './http/key-pair.js';
import { PlantStoreAdapter } from './http/plant-store.adapter.js';
import { serveDocument } from './openapi/serve.js';
import { PlantsModule } from './plants/plants.module.js';
import { ServiceLogger } from './telemetry/logger.js';
import { RequestLog } from './telemetry/request-log.js';

/** Gives every module the {@link Config}. */
@Module({})
class ConfigModule {
  static forRoot(config: Config): DynamicModule {
    const providers = [{ provide: Config, useValue: config }];
    return { module: ConfigModule, global: true, providers, exports: [Config] };
  }
}

/** Subscribes to what the app publishes. It is global, so that Nest shuts it down last. */
@Module({})
class TelemetryModule {
  static forRoot(config: Config, { pino }: ServiceLogger): DynamicModule {
    const providers = [
      { provide: RequestLog, useFactory: () => new RequestLog(pino, config) },
      { provide: Symbol('Tracing'), useFactory: () => openTracing(config) },
    ];
    return { module: TelemetryModule, global: true, providers };
  }
}

/** Loads OpenTelemetry only if the configuration names a collector. */
async function openTracing(config: Config) {
  if (config.otlpEndpoint === undefined) return undefined;
  const { Tracing } = await import('./telemetry/tracing.js');
  return new Tracing(config);
}

@Module({})
class AppModule {
  /** @param logger where requests are logged */
  static forRoot(config: Config, logger: ServiceLogger): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        DatabaseModule.forRoot(config),
        TelemetryModule.forRoot(config, logger),
        PlantsModule,
      ],
      providers: [{ provide: APP_FILTER, useClass: ErrorFilter }],
    };
  }
}

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
  // Nest would do so too, but later.
  Logger.overrideLogger(logger);
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot(config, logger),
    new PlantStoreAdapter(config),
    {
      // A pipe reads the body, after the guard.
      bodyParser: false,
      abortOnError: false,
      logger,
      ...(keyPair && { httpsOptions: keyPair }),
    },
  );
  if (config.docs) serveDocument(app, config);
  return app;
}
