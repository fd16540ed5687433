import { Global, Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { Writer } from './engine.js';
import { StoreHealth } from './health.js';
import { openStore, type Store } from './store.js';
import { isUnavailableAtStart } from './store-errors.js';

/** Provides the opened store, its writer and its health. Tries again every 3 s while the database is unavailable. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(config: Config): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: () => ({
            autoLoadEntities: true,
            retryAttempts: Infinity,
            verboseRetryLog: true,
            toRetry: ({ cause }: Error) => isUnavailableAtStart(cause),
          }),
          dataSourceFactory: (options) => openStore(config, options?.entities, 'serve'),
        }),
      ],
      providers: [
        StoreHealth,
        { provide: Writer, inject: [DataSource], useFactory: ({ writer }: Store) => writer },
      ],
      exports: [Writer, StoreHealth],
    };
  }
}
