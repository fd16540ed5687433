import { MigrationExecutor, type DataSource, type QueryRunner } from 'typeorm';
import { SchemaError, type Engine } from './engine.js';
import { CreatePlantsAndTokens1700000000000 } from './migrations/1700000000000-create-plants-and-tokens.js';

export const MIGRATIONS = [CreatePlantsAndTokens1700000000000];

/** Migrations of 1.0.0 that are part of another migration now. Stores of 1.0.0 have rows of them. */
const MERGED_MIGRATIONS = ['AddAuditTrailToPlants1763700000000'];

export function isOurMigration(name: string): boolean {
  return MIGRATIONS.some((each) => each.name === name) || MERGED_MIGRATIONS.includes(name);
}

/**
 * Migrates a store, or demands that it is up to date. Returns the names of the migrations that were run. The caller rolls
 * back by closing.
 */
export async function bringUpToDate(
  store: DataSource,
  engine: Engine,
  migrates: boolean,
): Promise<string[]> {
  // Before anything is made in a database that cannot be used.
  await engine.assertDurable?.(store);
  const runner = store.createQueryRunner();
  const ran: string[] = [];
  if (migrates) {
    await runner.query(engine.beginMigration);
    // DataSource.runMigrations() would take a session of its own, outside of the transaction that holds the lock.
    const executor = new MigrationExecutor(store, runner);
    executor.transaction = 'none';
    for (const { name } of await executor.executePendingMigrations()) ran.push(name);
    await runner.query('COMMIT');
  } else await assertMigrated(runner, engine);
  await runner.release();
  return ran;
}

/** @throws SchemaError if a migration of this version was not run */
export async function assertMigrated(
  runner: QueryRunner,
  { findTables }: Engine,
): Promise<'same' | 'newer'> {
  // TypeORM's own check would make the table.
  if (!(await runner.hasTable('migrations'))) {
    const tables = await runner.manager.query<unknown[]>(findTables);
    throw new SchemaError(tables.length === 0 ? 'empty' : 'missing');
  }
  const rows = await runner.manager.query<{ name: string }[]>('SELECT name FROM migrations');
  const ran = rows.map(({ name }) => name);
  const unknown = ran.filter((name) => !isOurMigration(name));
  if (unknown.length === ran.length) throw new SchemaError('missing');
  const current = MIGRATIONS.map(({ name }) => name);
  if (!current.every((name) => ran.includes(name))) throw new SchemaError('older');
  return unknown.length === 0 ? 'same' : 'newer';
}
