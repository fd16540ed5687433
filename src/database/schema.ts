import { MigrationExecutor, type DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import type { Engine } from './engine.js';
import { CreatePlantsAndTokens1700000000000 } from './migrations/1700000000000-create-plants-and-tokens.js';
import { CreateBackups1795600000000 } from './migrations/1795600000000-create-backups.js';
import { DamageError, SchemaError, type SchemaErrorKind } from './store-errors.js';
import { MIGRATIONS_TABLE } from './tables.js';

export const MIGRATIONS = [CreatePlantsAndTokens1700000000000, CreateBackups1795600000000];

/** Tables without an entity: no backup needs them, but its own, with its digests. `migrations` is the list of 1.0.0 and 2.0.0. */
export const OWN_TABLES: readonly string[] = [MIGRATIONS_TABLE, 'migrations', 'digests'];

/** 1.0.0 and 2.0.0 used TypeORM's default table `migrations`, which other programs may use too. */
function isBeforeOwnMigrationsTable(columns: readonly string[]): boolean {
  const own = ['migrations.name', 'plants.created_by', 'tokens.hash', 'tokens.last_used_at'];
  return (
    !columns.includes(`${MIGRATIONS_TABLE}.name`) && own.every((column) => columns.includes(column))
  );
}

/** The SQL of the names of the migrations that were run. */
export function appliedMigrationsSql(columns: readonly string[]): string {
  if (columns.includes(`${MIGRATIONS_TABLE}.name`)) return `SELECT name FROM ${MIGRATIONS_TABLE}`;
  return `SELECT '${CreatePlantsAndTokens1700000000000.name}' AS name WHERE ${isBeforeOwnMigrationsTable(columns)}`;
}

/** The names of the migrations that were not run. */
export function listMissing(ran: readonly unknown[]): string[] {
  return MIGRATIONS.map(({ name }) => name).filter((name) => !ran.includes(name));
}

/** SQL that puts the row of a migration into the list of those that were run. */
export function insertMigration(name: string): string {
  return `INSERT INTO ${MIGRATIONS_TABLE} (timestamp, name) VALUES (${name.slice(-13)}, '${name}')`;
}

/** Decides what a database is, for every command: a store of this version, or what else. @throws DamageError */
export function judgeSchema(
  columns: readonly string[],
  ran: readonly string[],
): 'same' | SchemaErrorKind {
  const own = MIGRATIONS.length - listMissing(ran).length;
  const hasTables = ['plants.id', `${MIGRATIONS_TABLE}.name`].every((name) =>
    columns.includes(name),
  );
  // If a file was cut beside its log, SQLite reads the missing pages as empty.
  if (hasTables && !ran.some(Boolean))
    throw new DamageError(`${MIGRATIONS_TABLE} has lost its rows`);
  if (own === 0)
    return columns.every((column) => column.startsWith(`${MIGRATIONS_TABLE}.`))
      ? 'empty'
      : 'foreign';
  if (own < MIGRATIONS.length) return 'older';
  return own === ran.length ? 'same' : 'newer';
}

/** Migrates a store, or demands that it is up to date. The caller rolls back by closing. @returns what was run */
export async function migrateOrAssert(
  store: DataSource,
  engine: Engine,
  migrates: boolean,
): Promise<string[]> {
  await using runner = store.createQueryRunner();
  if (!migrates) {
    // Services of both versions may run during an upgrade.
    await assertMigrated(runner, engine, ['newer']);
    return [];
  }
  await runner.query(engine.beginMigration);
  // DataSource.runMigrations() would take a session of its own, outside of the transaction that holds the lock.
  const executor = new MigrationExecutor(store, runner);
  executor.transaction = 'none';
  const columns = await listNames(runner, engine.listColumns);
  // TypeORM does not see a table on which the role has no right, and would make it again.
  await listNames(runner, appliedMigrationsSql(columns));
  if (isBeforeOwnMigrationsTable(columns)) {
    // Makes the new list. The old one stays, for a way back.
    await executor.showMigrations();
    await runner.query(insertMigration(CreatePlantsAndTokens1700000000000.name));
  }
  const ran = await executor.executePendingMigrations();
  await runner.query('COMMIT');
  return ran.map(({ name }) => name);
}

/** @param needed columns with which an older store will do @throws SchemaError if it is not of this version or allowed */
export async function assertMigrated(
  runner: QueryRunner,
  { listColumns }: Engine,
  allowed: readonly SchemaErrorKind[] = [],
  needed?: readonly string[],
): Promise<void> {
  const columns = await listNames(runner, listColumns);
  const ran = await listNames(runner, appliedMigrationsSql(columns));
  const state = judgeSchema(columns, ran);
  if (state === 'older' && needed?.every((column) => columns.includes(column))) return;
  if (state === 'same' || allowed.includes(state)) return;
  const newer = ran.find((name) => !MIGRATIONS.some((own) => own.name === name));
  throw new SchemaError(state, undefined, state === 'newer' ? `, by the migration ${newer}` : '');
}

/** Runs a query whose rows have a `name`. */
export async function listNames(
  { manager }: { readonly manager: EntityManager },
  sql: string,
): Promise<string[]> {
  const rows = await manager.query<{ name: string }[]>(sql);
  return rows.map(({ name }) => name);
}
