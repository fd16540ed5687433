/** @engine postgres */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { runCli } from '../support/cli.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresStore } from '../support/postgres-store.js';
import { SqliteStore } from '../support/sqlite-store.js';
import { cli, makeToken } from './backups.js';

let server: PostgresServer;
let source: SqliteStore;
let target: PostgresStore;
let file: string;
beforeAll(async () => {
  server = await PostgresServer.start();
  source = new SqliteStore();
  file = join(source.folder, 'backup.sqlite');
  await cli(source, 'migrate');
  await makeToken(source, 'nursery');
  await cli(source, `backup ${file}`);
});
beforeEach(async () => {
  target = await PostgresStore.create(server.url());
  await cli(target, 'migrate');
});
afterEach(() => target.remove());
afterAll(async () => {
  await source.remove();
  await server.remove();
});

const OFF =
  'fsync is off, so that a plant could be lost: set it to on, then run `sync` on its server\n';

it.each([
  ['before its commit', '', `error: ${OFF}`, 0],
  ['as it commits', 'DEFERRABLE INITIALLY DEFERRED', `error: the store is filled, but ${OFF}`, 1],
])('a server that is weakened %s: an error', async (_when, deferred, stderr, count) => {
  // Holds the transaction for as long as we have the lock. To wait for the lock would time out.
  await target.execute(`
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      WHILE NOT pg_try_advisory_xact_lock(1) LOOP PERFORM pg_sleep(0.01); END LOOP;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON tokens ${deferred} FOR EACH ROW EXECUTE FUNCTION hold();
    SELECT pg_advisory_lock(1)`);
  const env = { DATABASE_URL: target.url, DATABASE_TIMEOUT: '60s' };
  const restored = runCli(['restore', file], { cwd: target.folder, env });
  const held = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
  while ((await target.rows(held)).length === 0) await sleep(5);
  await target.execute('ALTER SYSTEM SET fsync = off');
  await target.reload();
  await target.execute('SELECT pg_advisory_unlock(1)');
  expect(await restored).toEqual({ code: 1, stdout: '', stderr });
  expect(await target.rows('SELECT FROM tokens')).toHaveLength(count);
  await target.execute('ALTER SYSTEM RESET fsync');
  await target.reload();
});

it('a trigger that weakens the commit of its own transaction: an error, and nothing is stored', async () => {
  await target.execute(`
    CREATE FUNCTION weaken() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      SET LOCAL synchronous_commit = off;
      RETURN NULL;
    END $$;
    CREATE TRIGGER weaken AFTER INSERT ON tokens FOR EACH ROW EXECUTE FUNCTION weaken()`);
  expect(await cli(target, `restore ${file}`)).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: synchronous_commit is off, so that a plant could be lost: set it to on or remote_apply\n',
  });
  expect(await target.rows('SELECT FROM tokens')).toEqual([]);
});
