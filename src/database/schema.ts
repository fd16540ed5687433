import { MigrationExecutor, type DataSource, type QueryRunner } from 'typeorm';
import type { Engine } from './engine.js';
import { CreatePlantsAndTokens1700000000000 } from './migrations/1700000000000-create-plants-and-tokens.js';
import { CreateBackups1795600000000 } from './migrations/1795600000000-create-backups.js';
import { SchemaError, type SchemaErrorKind } from './store-errors.js';

export const MIGRATIONS = [CreatePlantsAndTokens1700000000000, CreateBackups1795600000000];

export const LIST = 'plant_store_migrations';
/** Before 3.0.0: TypeORM's default, which other programs use too. */
const OLD_LIST = 'migrations';

/** What lists the migrations that were run, in SQL; undefined if nothing does. */
function findList(columns: readonly string[]): string | undefined {
  if (columns.includes(`${LIST}.name`)) return LIST;
  const ofOldStore = [`${OLD_LIST}.name`, 'plants.id', 'tokens.hash'];
  if (!ofOldStore.every((column) => columns.includes(column))) return undefined;
  // Other programs' migrations say nothing of this store.
  return `${OLD_LIST} WHERE name IN (${MIGRATIONS.map(({ name }) => `'${name}'`).join()})`;
}

/** The SQL of the names of the migrations that were run. */
export function selectRan(columns: readonly string[]): string {
  const list = findList(columns);
  return list === undefined ? "SELECT '' AS name WHERE 1 = 0" : `SELECT name FROM ${list}`;
}

/** Decides what a database is, for every command: a store of this version, or what else. */
export function judgeSchema(
  columns: readonly string[],
  ran: readonly string[],
): 'same' | SchemaErrorKind {
  const known = MIGRATIONS.filter(({ name }) => ran.includes(name));
  if (known.length === 0) {
    const isOfList = (column: string) =>
      [LIST, OLD_LIST].some((list) => column.startsWith(`${list}.`));
    return columns.every(isOfList) ? 'empty' : 'foreign';
  }
  if (known.length < MIGRATIONS.length) return 'older';
  return known.length === ran.length ? 'same' : 'newer';
}

/** Migrates a store, or demands that it is up to date. The caller rolls back by closing. @returns what was run */
export async function bringUpToDate(
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
  // A store of 1.0.0 or 2.0.0. The old list stays: other programs may use it, and a way back.
  const list = findList(await listNames(runner, engine.listColumns));
  if (list !== undefined && list !== LIST) {
    // Makes the new list.
    await executor.showMigrations();
    await runner.query(`INSERT INTO ${LIST} (timestamp, name) SELECT timestamp, name FROM ${list}`);
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
  const state = judgeSchema(columns, await listNames(runner, selectRan(columns)));
  if (state === 'older' && needed?.every((column) => columns.includes(column))) return;
  if (state !== 'same' && !allowed.includes(state)) throw new SchemaError(state);
}

async function listNames(runner: QueryRunner, sql: string): Promise<string[]> {
  const rows = await runner.manager.query<{ name: string }[]>(sql);
  return rows.map(({ name }) => name);
}
