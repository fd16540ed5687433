import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { engineOf } from './engine-of.js';

let folder: string;
let store: DataSource;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
  const url = `sqlite:${join(folder, 'store.sqlite')}`;
  store = await new DataSource(engineOf(url).connect(url)).initialize();
});
afterEach(async () => {
  await store.destroy();
  rmSync(folder, { recursive: true });
});

/** The statements that make the store's tables. */
async function tables(): Promise<string[]> {
  const rows = await store.query<{ sql: string }[]>(
    "SELECT sql FROM sqlite_master WHERE name IN ('plants', 'tokens') ORDER BY name",
  );
  return rows.map(({ sql }) => sql);
}

describe('the migrations', () => {
  it('make what the entities say, and a second run changes nothing', async () => {
    await store.runMigrations();
    const { upQueries } = await store.driver.createSchemaBuilder().log();
    expect(upQueries).toEqual([]);
    expect(await tables()).toHaveLength(2);
    expect(await store.runMigrations()).toEqual([]);
  });

  it('go down again, to nothing, and up once more', async () => {
    const made = await store.runMigrations();
    const before = await tables();
    for (let i = 0; i < made.length; i++) await store.undoLastMigration();
    expect(await tables()).toEqual([]);
    await store.runMigrations();
    expect(await tables()).toEqual(before);
  });

  it('keep plants in the order of the ids, without a second key', async () => {
    await store.runMigrations();
    expect((await tables())[0]).toMatch(/WITHOUT ROWID$/);
  });
});

describe('a connection', () => {
  it.each([
    ['journal_mode', 'wal'],
    ['synchronous', 2],
    ['busy_timeout', 5000],
  ])('has %s = %s', async (pragma, value) => {
    const [row = {}] = await store.query<Record<string, unknown>[]>(`PRAGMA ${pragma}`);
    expect(Object.values(row)).toEqual([value]);
  });
});

it('an address of no engine is refused', () => {
  expect(() => engineOf('mysql://localhost')).toThrow('DATABASE_URL names no engine');
});
