import { Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Config } from './config/config.js';
import { ConfigModule } from './config/config.module.js';
import { DatabaseModule } from './database/database.module.js';
import { ErrorFilter } from './http/error.filter.js';
import { PlantsModule } from './plants/plants.module.js';
import type { ServiceLogger } from './telemetry/logger.js';
import { TelemetryModule } from './telemetry/telemetry.module.js';

@Module({})
export class AppModule {
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
