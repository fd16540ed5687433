import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { createStore } from '../../test/support/engine.js';
import type { TemporaryStore } from '../../test/support/temporary-store.js';
import { readConfig } from '../config/environment.js';
import type { Config } from '../config/config.js';
import { Token } from '../auth/tokens/token.entity.js';
import { Plant } from '../plants/plant.entity.js';
import { Snapshot } from './snapshot.js';
import { loadEngine, migrateStore, openStore, Store, StoreUnusableError } from './store.js';
import { MIGRATIONS } from './schema.js';

let temporary: TemporaryStore;
let config: Config;
beforeEach(async () => {
  temporary = await createStore();
  config = readConfig({ DATABASE_URL: temporary.url });
});
afterEach(() => temporary.remove());

/** Opens the database as it is, works with it, and closes it. */
async function withDatabase<Result>(work: (database: DataSource) => Promise<Result>) {
  const engine = await loadEngine(config.databaseUrl);
  await using database = new Store(engine, config, 'create', [Plant, Token]);
  await database.initialize();
  return await work(database);
}

/** The statements that would bring the schema to what the entities say. */
const drift = () =>
  withDatabase(async (database) => (await database.driver.createSchemaBuilder().log()).upQueries);

describe('the migrations', () => {
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

  it('let a service go on that knows nothing of the columns that it does not name', async () => {
    await migrateStore(config);
    await temporary.execute("INSERT INTO plants (id, name, tag) VALUES (1, 'oak', NULL)");
    expect(await temporary.rows('SELECT * FROM plants')).toMatchObject([
      { id: 1n, name: 'oak', tag: null, created_by: null, created_at: null },
    ]);
  });

  it('are run once by ten that start at once', async () => {
    const opened = await Promise.all(Array.from({ length: 10 }, () => openStore(config)));
    const ran = await opened[0]?.query<unknown[]>('SELECT name FROM plant_store_migrations');
    await Promise.all(opened.map((store) => store.destroy()));
    expect(ran).toHaveLength(MIGRATIONS.length);
  });

  it('are demanded, not run, with MIGRATE=off', async () => {
    const off = readConfig({ DATABASE_URL: temporary.url, MIGRATE: 'off' });
    await expect(openStore(off)).rejects.toThrow(StoreUnusableError);
    await expect(openStore(off)).rejects.toThrow(
      'DATABASE_URL: the store cannot be opened: it is empty: run `bin/plant-store migrate`',
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
class AddNote2000000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE plants ADD COLUMN note text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE plants DROP COLUMN note');
  }
}

describe('a further migration', () => {
  beforeEach(async () => {
    await migrateStore(config);
    await temporary.execute("INSERT INTO plants (id, name, tag) VALUES (1, 'oak', 't')");
    MIGRATIONS.push(AddNote2000000000000);
  });
  afterEach(() => void MIGRATIONS.pop());

  it('keeps what is stored, up and down', async () => {
    const [row] = await temporary.rows<object>('SELECT * FROM plants');
    expect(await migrateStore(config)).toEqual(['AddNote2000000000000']);
    expect(await temporary.rows('SELECT * FROM plants')).toEqual([{ ...row, note: null }]);
    await withDatabase((database) => database.undoLastMigration());
    expect(await temporary.rows('SELECT * FROM plants')).toEqual([row]);
  });

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
    await expect(openStore(config, [], 'tokens')).rejects.toThrow(older);
    await expect(Snapshot.open(config)).rejects.toThrow(older);
  });

  it('is demanded of a backup, which is not migrated itself', async () => {
    await expect(Snapshot.open(config, 'x.sqlite: the backup')).rejects.toThrow(
      'x.sqlite: the backup cannot be opened: its schema is of an older version: copy it, ' +
        'run `bin/plant-store migrate` and `bin/plant-store backup NEW` with DATABASE_URL=sqlite:COPY, and use NEW',
    );
  });

  it('that this version does not know is of a newer one', async () => {
    await migrateStore(config);
    MIGRATIONS.pop();
    await expect(Snapshot.open(config)).rejects.toThrow(
      'its schema is of a newer version: use that version of plant-store',
    );
    // Services of both versions may run during an upgrade.
    await (await openStore(config)).destroy();
    MIGRATIONS.push(AddNote2000000000000);
  });
});
