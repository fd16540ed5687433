import { Global, Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { WritePath } from './engine.js';
import type { Entities, Store } from './open-store.js';
import { StoreHealth } from './store-health.js';

/** The store: its engine, its connection, its schema brought up to date, the way to write to it. */
@Global()
@Module({})
export class DatabaseModule {
  /** @param open how the store is opened: whether one that is unavailable is waited for */
  static forRoot(
    config: Config,
    open: (config: Config, entities: Entities) => Promise<Store>,
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
          useFactory: (store: Store) => store.writePath,
        },
      ],
      exports: [WritePath, StoreHealth],
    };
  }
}
