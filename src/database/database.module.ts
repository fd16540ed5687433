import { Global, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { WritePath } from './engine.js';
import { engineOf, type Entities } from './open-store.js';
import { StoreHealth } from './store-health.js';

/** The store: its engine, its connection, its schema brought up to date, the way to write to it. */
@Global()
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(private readonly writePath: WritePath) {}

  /** Nest shuts dependencies down after their dependents, so all that wrote have come to their end. */
  onApplicationShutdown(): Promise<void> {
    return this.writePath.close();
  }

  /** @param open how the store is opened: whether one that is unavailable is waited for */
  static forRoot(
    config: Config,
    open: (config: Config, entities: Entities) => Promise<DataSource>,
  ): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          // Whether there is another try is decided where the store is opened.
          useFactory: () => ({ autoLoadEntities: true, toRetry: () => false }),
          dataSourceFactory: (options) => open(config, options?.entities),
        }),
      ],
      providers: [
        StoreHealth,
        {
          provide: WritePath,
          inject: [DataSource],
          useFactory: (store: DataSource) =>
            engineOf(config.databaseUrl).openWritePath(store, config),
        },
      ],
      exports: [WritePath, StoreHealth],
    };
  }
}
