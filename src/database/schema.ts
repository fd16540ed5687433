import { MigrationExecutor, type DataSource, type QueryRunner } from 'typeorm';
import { SchemaError, type Engine, type SchemaErrorKind } from './engine.js';
import { CreatePlantsAndTokens1700000000000 } from './migrations/1700000000000-create-plants-and-tokens.js';
import { CreateBackups1795600000000 } from './migrations/1795600000000-create-backups.js';

export const MIGRATIONS = [CreatePlantsAndTokens1700000000000, CreateBackups1795600000000];

export const LIST = 'plant_store_migrations';
/** Before 3.0.0: TypeORM's default, which other programs use too. */
const OLD_LIST = 'migrations';

function isOurs(name: string): boolean {
  return MIGRATIONS.some((each) => each.name === name);
}

/** The SQL of the names of the migrations that were run; of none, without a list of ours among the columns. */
export function selectRan(columns: readonly string[]): string {
  const has = (...names: readonly string[]) => names.every((name) => columns.includes(name));
  if (has(`${LIST}.name`)) return `SELECT name FROM ${LIST}`;
  if (!has(`${OLD_LIST}.name`, 'plants.id', 'tokens.hash')) return "SELECT '' AS name WHERE 1 = 0";
  // Other programs' migrations say nothing of this store.
  const names = MIGRATIONS.map(({ name }) => `'${name}'`).join();
  return `SELECT name FROM ${OLD_LIST} WHERE name IN (${names})`;
}

/** Decides what a database is, for every command: a store of this version, or what else. */
export function judgeSchema(
  columns: readonly string[],
  ran: readonly string[],
): 'same' | SchemaErrorKind {
  const known = ran.filter(isOurs);
  if (known.length === 0) {
    const isList = (column: string) =>
      [LIST, OLD_LIST].some((list) => column.startsWith(`${list}.`));
    return columns.every(isList) ? 'empty' : 'foreign';
  }
  if (!MIGRATIONS.every(({ name }) => known.includes(name))) return 'older';
  return known.length === ran.length ? 'same' : 'newer';
}

/** Migrates a store, or demands that it is up to date. The caller rolls back by closing. @returns what was run */
export async function bringUpToDate(
  store: DataSource,
  engine: Engine,
  migrates: boolean,
): Promise<string[]> {
  // Before anything is made in a database that cannot be used.
  await engine.assertDurable?.(store);
  await using runner = store.createQueryRunner();
  const ran: string[] = [];
  if (migrates) {
    await runner.query(engine.beginMigration);
    // DataSource.runMigrations() would take a session of its own, outside of the transaction that holds the lock.
    const executor = new MigrationExecutor(store, runner);
    executor.transaction = 'none';
    await takeOverList(executor, runner, engine);
    for (const { name } of await executor.executePendingMigrations()) ran.push(name);
    await runner.query('COMMIT');
    // Services of both versions may run during an upgrade.
  } else await assertMigrated(runner, engine, ['newer']);
  return ran;
}

/** Copies the list of a store of 1.0.0 or 2.0.0, once. The old one stays: other programs may use it, and a way back. */
async function takeOverList(
  executor: MigrationExecutor,
  runner: QueryRunner,
  { listColumns }: Engine,
): Promise<void> {
  const columns = await listNames(runner, listColumns);
  if (columns.includes(`${LIST}.name`)) return;
  const ran = await listNames(runner, selectRan(columns));
  if (ran.length === 0) return;
  // It makes the new list.
  await executor.showMigrations();
  const names = ran.map((name) => `'${name}'`).join();
  await runner.query(
    `INSERT INTO ${LIST} (timestamp, name) SELECT timestamp, name FROM ${OLD_LIST} WHERE name IN (${names})`,
  );
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
