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
import { ENGINE, STORE_WRITER, type StoreWriter } from './engine.js';
import { engineOf } from './engine-of.js';

/** The store: its engine, its connection, its schema brought up to date, the way to write to it. */
@Global()
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(@Inject(STORE_WRITER) private readonly writer: StoreWriter) {}

  /** Nest asks the modules that others depend on last, so all that wrote have come to their end. */
  onApplicationShutdown(): Promise<void> {
    return this.writer.close();
  }

  static forRoot({ databaseUrl }: Config): DynamicModule {
    const engine = engineOf(databaseUrl);
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: () => ({ ...engine.connect(databaseUrl), retryAttempts: 0 }),
          dataSourceFactory: async () => {
            const store = await new DataSource(engine.connect(databaseUrl)).initialize();
            await engine.migrate(store);
            return store;
          },
        }),
      ],
      providers: [
        { provide: ENGINE, useValue: engine },
        {
          provide: STORE_WRITER,
          inject: [DataSource],
          useFactory: (store: DataSource) => engine.openWriter(store),
        },
      ],
      exports: [ENGINE, STORE_WRITER],
    };
  }
}
