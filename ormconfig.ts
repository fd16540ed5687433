// The store that the environment names, for TypeORM's own CLI: `npm run typeorm -- migration:show`.
import { Migration, MigrationExecutor, type QueryRunner } from 'typeorm';
import { COMMAND } from './src/config/config.js';
import { getDatabaseSystem } from './src/config/database-url.js';
import { loadEnvironment, readConfig } from './src/config/environment.js';
import {
  appliedMigrationsSql,
  assertMigrated,
  listMissing,
  listNames,
  MIGRATIONS,
} from './src/database/schema.js';
import { loadEngine, migrateStore, Store } from './src/database/store.js';
import { describeTables, loadEntities, MIGRATIONS_TABLE } from './src/database/tables.js';

loadEnvironment();
const config = readConfig();
const engine = await loadEngine(config.databaseUrl);

/** The store as TypeORM's CLI may use it: what would lose rows, or record what was not done, is refused. */
class CliStore extends Store {
  /** Only reads: TypeORM's own makes the list of migrations, and a store of 1.0.0 with an empty list counts as damaged. */
  override async showMigrations(): Promise<boolean> {
    const columns = await listNames(this, engine.listColumns);
    const missing = listMissing(await listNames(this, appliedMigrationsSql(columns)));
    for (const { name } of MIGRATIONS)
      this.logger.logSchemaBuild(`[${missing.includes(name) ? ' ' : 'X'}] ${name}`);
    return missing.length > 0;
  }

  /** Does what `plant-store migrate` does, with its lock and its checks. @throws StoreUnusableError */
  override async runMigrations({ fake = false } = {}): Promise<Migration[]> {
    if (fake) throw refuse('--fake', `run \`${COMMAND} migrate\``);
    const ran = await migrateStore(config);
    const lines = ran.length > 0 ? ran.map((name) => `ran ${name}`) : ['up to date'];
    for (const line of lines) this.logger.logSchemaBuild(line);
    return ran.map((name) => new Migration(undefined, Number(name.slice(-13)), name));
  }

  /** Reverts the latest migration if no value is lost with it. @throws SchemaError; Error naming the columns with values */
  override async undoLastMigration({ fake = false } = {}): Promise<void> {
    if (fake) throw refuse('--fake', 'revert without it');
    await using runner = this.createQueryRunner();
    // The runner rolls back as it is released.
    await runner.query(engine.beginMigration);
    const columns = await listNames(runner, engine.listColumns);
    // A store of 1.0.0 has no list yet, and TypeORM would make an empty one.
    const hasList = columns.includes(`${MIGRATIONS_TABLE}.name`);
    await assertMigrated(runner, engine, hasList ? ['older'] : []);
    const filled = await this.lockFilled(runner, columns);
    const executor = new MigrationExecutor(this, runner);
    executor.transaction = 'none';
    await executor.undoLastMigration();
    const left = await listNames(runner, engine.listColumns);
    const lost = filled.filter((column) => !left.includes(column));
    const advice = `${lost.join(', ')} would be lost; make a backup, and empty them first`;
    if (lost.length > 0) throw refuse('migration:revert', advice);
    await runner.query('COMMIT');
  }

  override synchronize(): Promise<never> {
    const advice = `only migrations change a store: run \`${COMMAND} migrate\``;
    return Promise.reject(refuse('schema:sync', advice));
  }

  override dropDatabase(): Promise<never> {
    const advice = 'it would drop every plant: drop the database by its own means';
    return Promise.reject(refuse('schema:drop', advice));
  }

  /** Locks the store's tables against writes, until the end of the transaction. @returns the columns that have values */
  private async lockFilled(
    runner: QueryRunner,
    columns: readonly string[],
  ): Promise<readonly string[]> {
    const tables = (await describeTables(this)).map(({ name }) => name);
    const own = columns.map((column) => column.split('.') as [string, string]);
    const found = own.filter(([table]) => tables.includes(table));
    // SQLite has locked the whole file by now.
    if (getDatabaseSystem(config.databaseUrl) === 'postgresql') {
      const names = [...new Set(found.map(([table]) => `"${table}"`))];
      await runner.query(`LOCK TABLE ${names.join()} IN SHARE ROW EXCLUSIVE MODE`);
    }
    const selects = found.map(
      ([table, column]) =>
        `SELECT '${table}.${column}' AS name WHERE EXISTS (SELECT 1 FROM "${table}" WHERE "${column}" IS NOT NULL)`,
    );
    return listNames(runner, selects.join(' UNION ALL '));
  }
}

function refuse(what: string, advice: string): Error {
  return new Error(`${what} is refused: ${advice}`);
}

const store = new CliStore(engine, config, 'create', await loadEntities());
// The CLI reports to its user by the logger, which the service has switched off.
export default store.setOptions({ logger: 'advanced-console' });
