/** @engine sqlite */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type Database from 'better-sqlite3';
import type { DataSource } from 'typeorm';
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import { SqliteStore } from '../../../test/support/sqlite-store.js';
import { readConfig } from '../../config/environment.js';
import { openStore } from '../store.js';

let file: SqliteStore;
let store: DataSource;
beforeAll(async () => {
  file = new SqliteStore();
  store = await openStore(readConfig({ DATABASE_URL: file.url }));
});
afterAll(async () => {
  await store.destroy();
  await file.remove();
});

it.each([
  ['journal_mode', 'wal'],
  ['synchronous', 2],
  ['busy_timeout', 2000],
])('a connection has %s = %s', async (pragma, value) => {
  const [row = {}] = await store.query<Record<string, unknown>[]>(`PRAGMA ${pragma}`);
  expect(Object.values(row)).toEqual([value]);
});

it('a connection that fills a store needs no folder for temporary files, as few containers have one', async () => {
  await using filling = await openStore(readConfig({ DATABASE_URL: file.url }), [], 'fill');
  expect(await filling.query('PRAGMA temp_store')).toEqual([{ temp_store: 2 }]);
});

it('a connection has values that are no rows as they are', () => {
  const driver = store.driver as BetterSqlite3Driver;
  const statement = (driver.databaseConnection as Database.Database).prepare(
    "VALUES (NULL), ('text')",
  );
  expect(statement.pluck().all()).toEqual([null, 'text']);
});
