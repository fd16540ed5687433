import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { makeStore, store as temporary } from '../../test/support/own.js';
import { readConfig } from '../config/environment.js';
import type { Config } from '../config/config.js';
import { StoreSession } from './store-session.js';
import { loadEngine, migrateStore, openStore, Store } from './store.js';
import { MIGRATIONS } from './schema.js';
import { listTables, loadEntities } from './tables.js';

makeStore();
let config: Config;
beforeEach(() => {
  config = readConfig({ DATABASE_URL: temporary.url });
});

/** Opens the database as it is, works with it, and closes it. */
async function withDatabase<Result>(work: (database: DataSource) => Promise<Result>) {
  const engine = await loadEngine(config.databaseUrl);
  await using database = new Store(engine, config, 'create', await loadEntities());
  await database.initialize();
  return await work(database);
}

/** The statements that would bring the schema to what the entities say. */
const drift = () =>
  withDatabase(async (database) => (await database.driver.createSchemaBuilder().log()).upQueries);

it('a backup can carry every column of every table', async () => {
  const tables = await withDatabase((database) => Promise.resolve(listTables(database)));
  expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['plants', 'tokens']));
});

describe('the migrations', () => {
  it('are in the order of their timestamps, in which they run', () => {
    const stamps = MIGRATIONS.map(({ name }) => Number(name.slice(-13)));
    expect(stamps).toEqual([...new Set(stamps)].sort((a, b) => a - b));
  });

  it('make what the entities say, and a second run changes nothing', async () => {
    expect(await drift()).not.toEqual([]);
    expect(await migrateStore(config)).not.toEqual([]);
    expect(await drift()).toEqual([]);
    expect(await migrateStore(config)).toEqual([]);
  });

  it('go down again, to nothing, and up once more', async () => {
    const empty = await drift();
    const made = await migrateStore(config);
    await withDatabase(async (database) => {
      for (let i = 0; i < made.length; i++) await database.undoLastMigration();
    });
    expect(await drift()).toEqual(empty);
    expect(await migrateStore(config)).toEqual(made);
    expect(await drift()).toEqual([]);
  });

  it('are demanded, not run, with MIGRATE=off', async () => {
    const off = readConfig({ DATABASE_URL: temporary.url, MIGRATE: 'off' });
    await expect(openStore(off)).rejects.toThrow(
      'DATABASE_URL: the store cannot be opened: it is empty: for a new store run `bin/plant-store migrate`; to have plants back, restore a backup (docs/operating.md#restore)',
    );
    // Not even the table that lists the migrations was made.
    const tables = await withDatabase(async (database) =>
      database.createQueryRunner().hasTable('plant_store_migrations'),
    );
    expect(tables).toBe(false);
    await migrateStore(config);
    await (await openStore(off)).destroy();
  });
});

/** What the next version may change. */
class AddSpare2000000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE plants ADD COLUMN spare_of_a_test text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE plants DROP COLUMN spare_of_a_test');
  }
}

describe('a further migration', () => {
  beforeEach(async () => {
    await migrateStore(config);
    MIGRATIONS.push(AddSpare2000000000000);
  });
  afterEach(() => void MIGRATIONS.pop());

  it('gives up where the table is in use for long, and changes nothing', async () => {
    const unlock = await temporary.lock();
    await expect(migrateStore(config)).rejects.toThrow(/lock/);
    await unlock();
    expect(await migrateStore(config)).toHaveLength(1);
  });

  it('is demanded, not run, with MIGRATE=off', async () => {
    const off = readConfig({ DATABASE_URL: temporary.url, MIGRATE: 'off' });
    const older =
      'its schema is of an older version: run `bin/plant-store migrate`, or start the service with MIGRATE=on';
    await expect(openStore(off)).rejects.toThrow(older);
    await expect(openStore(config, [], 'token')).rejects.toThrow(older);
  });

  it('that this version does not know is of a newer one', async () => {
    await migrateStore(config);
    MIGRATIONS.pop();
    await expect(StoreSession.open(config)).rejects.toThrow(
      'its schema is of a newer version, by the migration AddSpare2000000000000: go forward to it again, or run this by that version (docs/operating.md#upgrade)',
    );
    // Services of both versions may run during an upgrade.
    await (await openStore(config)).destroy();
    MIGRATIONS.push(AddSpare2000000000000);
  });
});
