import { Global, Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { Logger, Writer } from './engine.js';
import { StoreInspection } from './inspection.js';
import { openStore, type Store } from './store.js';
import { isTransient } from './store-errors.js';
import { loadEntities } from './tables.js';

/** Provides the opened store, its writer and its inspection. Tries again every 3 s while the database is unavailable. */
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
            toRetry: ({ cause }: Error) => isTransient(cause),
          }),
          dataSourceFactory: async (options) => {
            await warnOfUnlisted(Object.values(options?.entities ?? []));
            return openStore(config, options?.entities, 'serve');
          },
        }),
      ],
      providers: [
        StoreInspection,
        { provide: Writer, inject: [DataSource], useFactory: ({ writer }: Store) => writer },
      ],
      exports: [Writer, StoreInspection],
    };
  }
}

/** Commands know the entities of files alone. */
async function warnOfUnlisted(entities: readonly unknown[]): Promise<void> {
  const listed: readonly unknown[] = await loadEntities();
  const unlisted = entities.filter((entity) => !listed.includes(entity));
  if (unlisted.length === 0) return;
  const names = unlisted.map((entity) => (entity as { readonly name?: string }).name).join(', ');
  new Logger('Store').warn(
    `no backup has the tables of ${names}: export such classes from a file of src named *.entity.ts`,
  );
}
