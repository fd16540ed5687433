import { existsSync } from 'node:fs';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { describeError } from '../database/describe-error.js';
import { engineOf } from '../database/engine-of.js';
import { CopyError } from './conflicts.js';

/**
 * Opens a store to read from. Nothing is changed there: it is neither made nor migrated.
 *
 * @throws CopyError where it cannot be used
 */
export async function openSource(config: Config): Promise<DataSource> {
  let source: DataSource | undefined;
  try {
    const options = engineOf(config.databaseUrl).connect(config);
    // TypeORM would make the file's folder.
    if (options.type === 'better-sqlite3' && !existsSync(options.database)) {
      throw new Error(`there is no file ${options.database}`);
    }
    // The last two are SQLite's; its pragmas would change the file of another program.
    const readonly = { ...options, readonly: true, prepareDatabase: () => undefined };
    source = await new DataSource(readonly).initialize();
    await demandSchema(source);
    return source;
  } catch (error) {
    await source?.destroy();
    const reason = `--from: the store cannot be opened: ${describeError(error)}`;
    throw new CopyError(reason, { cause: error });
  }
}

async function demandSchema(store: DataSource): Promise<void> {
  const runner = store.createQueryRunner();
  try {
    // Looked for first, since TypeORM's look at the migrations makes the table that lists them.
    const isOurs = (await runner.hasTable('migrations')) && (await runner.hasTable('plants'));
    if (!isOurs) throw new Error('it is no plant store');
  } finally {
    await runner.release();
  }
  if (await store.showMigrations()) {
    throw new Error('its schema is not up to date: run `plant-store migrate` on it');
  }
}
