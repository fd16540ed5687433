/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Client } from 'pg';
import { readConfig } from '../../src/config/environment.js';
import { SET_LEVEL } from '../../src/database/postgres/statements.js';
import { migrateStore } from '../../src/database/store.js';
import { StoreSession } from '../../src/database/store-session.js';
import { cli, makeStore, store } from '../support/own.js';
import { ServiceProcess } from '../support/service-process.js';

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
  expect((await worker.query(`SELECT ${SET_LEVEL} AS level`)).rows).toEqual([{ level: true }]);
  const { rows } = await worker.query('SHOW synchronous_commit');
  expect(rows).toEqual([{ synchronous_commit: 'on' }]);
  await worker.end();
});

describe('the workers of a service', () => {
  it('warn at debug1 through the coordinator that they did not wait for the standby: no 200', async () => {
    await store.execute(`
      DELETE FROM prepared;
      DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET citus.worker_min_messages = notice', current_database());
      END $$;
      CREATE FUNCTION pass_on() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE DEBUG 'canceling wait for synchronous replication due to user request';
        RETURN NEW;
      END $$;
      CREATE TRIGGER pass_on BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION pass_on()`);
    const service = await ServiceProcess.start({ store, env: { MANAGEMENT_PORT: '0' } });
    const { status } = await service.client().create({ id: 1n, name: 'oak' });
    await service.kill();
    expect(status).toBe(503);
    expect(service.output).toContain('canceling wait for synchronous replication');
  });

  it('are inspected: one whose settings may lose a plant is a problem, one that is away a warning', async () => {
    // A substitute for Citus: its workers are the rows of a table, where an empty result is that of this server.
    await store.execute(`
      CREATE TABLE workers (nodename text, success boolean, result text);
      INSERT INTO workers VALUES ('w1', true, NULL), ('w2', true, NULL);
      DO $do$ BEGIN EXECUTE $sql$
        CREATE FUNCTION run_command_on_workers(command text, OUT nodename text, OUT nodeport int, OUT success boolean, OUT result text)
        RETURNS SETOF record LANGUAGE plpgsql AS $$ DECLARE found text; BEGIN
          EXECUTE command INTO found;
          RETURN QUERY SELECT workers.nodename, 5432, workers.success, coalesce(workers.result, found) FROM workers;
        END $$ $sql$; END $do$`);
    await store.execute('DELETE FROM prepared');
    const service = await ServiceProcess.start({ store, env: { MANAGEMENT_PORT: '0' } });
    const create = async (id: bigint) =>
      (await service.client().create({ id, name: 'oak' })).status;
    expect(await create(1n)).toBe(200);
    await store.execute(
      `UPDATE workers SET result = '["fsync is off, so that a plant could be lost", "set it to on"]' WHERE nodename = 'w2'`,
    );
    const { details } = await service.monitor.until(503, 'store');
    expect(details.store?.message).toBe(
      'on the worker w2:5432 fsync is off, so that a plant could be lost: set it to on',
    );
    expect(await create(2n)).toBe(503);
    await store.execute(`UPDATE workers SET success = nodename <> 'w2', result = NULL`);
    await service.monitor.until(200);
    expect(await create(2n)).toBe(200);
    while (!service.output.includes('a worker of Citus is unavailable: w2:5432')) await sleep(20);
    await service.kill();
  });
});
