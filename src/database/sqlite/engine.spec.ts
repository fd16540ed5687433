/** @engine sqlite */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type Database from 'better-sqlite3';
import type { DataSource } from 'typeorm';
import { SqliteStore } from '../../../test/support/sqlite-store.js';
import { readConfig } from '../../config/environment.js';
import { Logger } from '../engine.js';
import { open, openStore } from '../store.js';

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

it('an error of the work on a store is kept if the store cannot be closed either', async () => {
  const logged: string[] = [];
  const log = (line: string) => void logged.push(line);
  Logger.overrideLogger({ log, error: log, warn: log });
  let rows: Iterator<unknown> | undefined;
  const config = readConfig({ DATABASE_URL: file.url });
  const cause = new Error('the work failed');
  const opened = open(config, 'tokens', [], async (store) => {
    // SQLite closes no connection that still reads.
    const connection = (await store.createQueryRunner().connect()) as Database.Database;
    rows = connection.prepare('SELECT 1').iterate();
    rows.next();
    throw cause;
  });
  await expect(opened).rejects.toMatchObject({ cause });
  expect(logged).toEqual([expect.stringMatching(/^the store could not be closed: .*busy/)]);
  rows?.return?.();
});
