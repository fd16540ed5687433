import { Global, Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { WritePath } from './engine.js';
import { awaitStore, type Store } from './store.js';
import { StoreHealth } from './health.js';

/** Opens the store, its schema up to date, and provides its connection, its write path and its health. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(config: Config): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          // awaitStore() decides about another try.
          useFactory: () => ({ autoLoadEntities: true, toRetry: () => false }),
          dataSourceFactory: (options) => awaitStore(config, options?.entities),
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
