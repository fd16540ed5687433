/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, it, jest } from '@jest/globals';
import { Client } from 'pg';
import { readConfig } from '../../src/config/environment.js';
import { COMMIT_COLUMN } from '../../src/database/postgres/safety.js';
import { migrateStore } from '../../src/database/store.js';
import { StoreSession } from '../../src/database/store-session.js';
import { cli, makeStore, store } from '../support/own.js';

makeStore();
beforeEach(async () => {
  await migrateStore(readConfig({ DATABASE_URL: store.url }));
  // A substitute for Citus, which npm does not have: a node whose prepared transactions are in the table.
  await store.execute(`
    CREATE TABLE prepared (gid text, success boolean DEFAULT true);
    CREATE SEQUENCE looks;
    CREATE FUNCTION run_command_on_all_nodes(command text, OUT nodeid int, OUT success boolean, OUT result text)
    RETURNS SETOF record LANGUAGE sql AS $$
      SELECT nextval('looks')::int, coalesce(bool_and(success), true), coalesce(json_agg(gid), '[]')::text
      FROM prepared $$;
    INSERT INTO prepared VALUES ('citus_0_1')`);
});

async function awaitLook(): Promise<void> {
  while ((await store.rows('SELECT FROM looks WHERE is_called')).length === 0) await sleep(5);
}

it('an export waits for transactions prepared before it, not for later ones', async () => {
  const exported = cli('export');
  await awaitLook();
  await sleep(1_000);
  const [{ last_value: looks } = {}] = await store.rows<{ last_value?: bigint }>(
    'SELECT last_value FROM looks',
  );
  // Every 200 ms.
  expect(Number(looks)).toBeLessThan(15);
  await store.execute("INSERT INTO prepared VALUES ('citus_0_2')");
  await store.execute("INSERT INTO plants (id, name) VALUES (1, 'oak')");
  await store.execute("DELETE FROM prepared WHERE gid = 'citus_0_1'");
  expect(await exported).toMatchObject({ code: 0, stdout: '{"id":1,"name":"oak"}\n' });
});

it('transactions that stay prepared make an export fail', async () => {
  const failed = expect(StoreSession.open(readConfig({ DATABASE_URL: store.url }))).rejects.toThrow(
    'Citus has not finished its prepared transactions (1), which may hold acknowledged plants: see docs/clusters.md#citus',
  );
  await awaitLook();
  const clock = jest.spyOn(performance, 'now').mockReturnValue(Number.MAX_SAFE_INTEGER);
  await failed;
  clock.mockRestore();
});

it.each(['export plants.ndjson', 'backup plants.sqlite'])(
  'an unavailable node makes %s fail',
  async (command) => {
    await store.execute("UPDATE prepared SET success = false, gid = 'w1'");
    expect(await cli(command)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/a node of Citus cannot be read: .*w1/),
    });
  },
);

it('a snapshot lifts the time-outs of its transaction alone: a pooler may lend the session to others', async () => {
  await store.execute('DELETE FROM prepared');
  await store.execute(`
    DO $$ DECLARE setting text; BEGIN
      FOR setting IN SELECT name FROM pg_settings WHERE name IN ('statement_timeout', 'transaction_timeout') LOOP
        EXECUTE format('ALTER DATABASE %I SET %I = ''1h''', current_database(), setting);
      END LOOP;
    END $$`);
  await using snapshot = await StoreSession.open(readConfig({ DATABASE_URL: store.url }));
  const read = async () => {
    const sql = "SELECT setting FROM pg_settings WHERE name ~ '^(statement|transaction)_timeout$'";
    return new Set((await snapshot.query<{ setting: string }>(sql)).map(({ setting }) => setting));
  };
  expect(await read()).toEqual(new Set(['0']));
  await snapshot.query('COMMIT');
  expect(await read()).toEqual(new Set(['3600000']));
});

it('on a worker the level of a commit is that of the session: COMMIT PREPARED is a transaction of its own', async () => {
  const name = 'citus_internal gpid=1';
  const worker = new Client({ connectionString: store.url, application_name: name });
  await worker.connect();
  await worker.query('SET synchronous_commit = off');
  // Each row may come from another server, with another table of plants.
  expect((await worker.query(`SELECT ${COMMIT_COLUMN}`)).rows).toEqual([{ hazard: null }]);
  const { rows } = await worker.query('SHOW synchronous_commit');
  expect(rows).toEqual([{ synchronous_commit: 'on' }]);
  await worker.end();
});
