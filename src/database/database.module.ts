import {
  Global,
  Inject,
  Module,
  type DynamicModule,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { STORE_WRITER, type StoreWriter } from './engine.js';
import { engineOf } from './engine-of.js';
import { StoreProbe } from './store-probe.js';
import { StoreState } from './store-state.js';

/** The store: its engine, its connection, its schema brought up to date, the way to write to it. */
@Global()
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(@Inject(STORE_WRITER) private readonly writer: StoreWriter) {}

  /** Nest asks the modules that others depend on last, so all that wrote have come to their end. */
  onApplicationShutdown(): Promise<void> {
    return this.writer.close();
  }

  /** @param open how the store is opened: whether one that is away is waited for */
  static forRoot(config: Config, open: (config: Config) => Promise<DataSource>): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          // Whether there is another try is decided where the store is opened.
          useFactory: () => ({ toRetry: () => false }),
          dataSourceFactory: () => open(config),
        }),
      ],
      providers: [
        StoreState,
        StoreProbe,
        {
          provide: STORE_WRITER,
          inject: [DataSource],
          useFactory: (store: DataSource) => engineOf(config.databaseUrl).openWriter(store, config),
        },
      ],
      exports: [STORE_WRITER, StoreState, StoreProbe],
    };
  }
}
