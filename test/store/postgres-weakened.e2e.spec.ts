/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client as Postgres } from 'pg';
import { Monitor } from '../support/monitor.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresStore } from '../support/postgres-store.js';
import { runMain, ServiceProcess } from '../support/service-process.js';
import { startHere } from '../support/start-here.js';

const UNAVAILABLE = { status: 503, body: { error: 5001, message: 'the store is unavailable' } };
const WAITING_FOR_STANDBY = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
const WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'";

let server: PostgresServer;
let store: PostgresStore;
let service: ServiceProcess;
let operator: Postgres;
beforeAll(async () => {
  // Only commits sync the log for this long; a commit that does not wait is lost with the server.
  server = await PostgresServer.start(['wal_writer_delay=10s']);
  store = await PostgresStore.create(server.url());
  // An outage ends after half this time without a failure.
  const env = { MANAGEMENT_PORT: '0', DATABASE_TIMEOUT: '2s' };
  service = await ServiceProcess.start({ store, env });
  operator = await connect();
});
afterAll(async () => {
  await operator.end().catch(() => undefined);
  await service.remove();
  await server.remove();
});

async function connect(): Promise<Postgres> {
  const client = new Postgres({ connectionString: store.url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Waits until the service is not ready for this reason. */
async function notReady(reason: string): Promise<void> {
  // A request that fails first says less than the probe.
  await Monitor.of(service).untilProblem(reason);
}

async function ready(): Promise<void> {
  await Monitor.of(service).until(200);
}

/** Waits until the log says that the latest outage is over: a reason is logged once in an outage. */
async function untilNoOutage(): Promise<void> {
  const isOver = () =>
    service.output.lastIndexOf('the store is available again') >=
    service.output.lastIndexOf('the store is unavailable');
  while (!isOver()) await sleep(20);
}

/** Has the server abandon its wait for the standby: it commits, and warns. */
async function abandonWait(): Promise<void> {
  await store.rows(`SELECT pg_cancel_backend(pid) FROM (${WAITING_FOR_STANDBY}) AS waiting`);
}

/** Changes a setting of the server as an operator does; null resets it. */
async function set(name: string, value: string | null): Promise<void> {
  const change = value === null ? `RESET ${name}` : `SET ${name} = '${value}'`;
  await operator.query(`ALTER SYSTEM ${change}`);
  await store.reload();
}

/** Creates a plant that has to wait for a standby, and ends the wait. Resolves to its status, once there is no standby again. */
async function createWaiting(settle: () => Promise<void>): Promise<number> {
  await set('synchronous_standby_names', 'nobody');
  let created: Promise<{ status: number }>;
  let isWaiting = false;
  do {
    let status: number | undefined;
    created = service.client().create({ id: next++, name: 'oak' });
    void created.then((response) => (status = response.status));
    // A busy machine may take too long: then no session waits, and another plant is tried.
    while (status === undefined && !isWaiting)
      isWaiting = (await store.rows(WAITING_FOR_STANDBY)).length > 0;
  } while (!isWaiting);
  await settle();
  const response = await created;
  await set('synchronous_standby_names', null);
  await ready();
  return response.status;
}

describe('a start', () => {
  it.each([
    ['default_transaction_isolation', 'repeatable read', 'read committed', 'requests would fail'],
    ['default_transaction_isolation', 'serializable', 'read committed', 'requests would fail'],
    ['synchronous_commit', 'off', 'on or remote_apply'],
    ['synchronous_commit', 'local', 'on or remote_apply'],
    ['synchronous_commit', 'remote_write', 'on or remote_apply'],
    ['fsync', 'off', 'on, then run `sync` on its server'],
    ['full_page_writes', 'off', 'on'],
    ['client_min_messages', 'error', 'warning'],
  ])('is refused with %s = %s', async (name, value, instead, harm = 'a plant could be lost') => {
    await set(name, value);
    const { code, stderr } = await startHere(store.url);
    await set(name, null);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        `error: DATABASE_URL: the store cannot be opened: ${name} is ${value}, ` +
        `so that ${harm}: set it to ${instead}\n`,
    });
  });

  it('is refused on a server that goes on after a failed sync', async () => {
    const careless = await PostgresServer.start(['data_sync_retry=on']);
    // A process of its own: a start that is refused ends, and one without a server waits.
    const { code, stderr } = await runMain(await PostgresStore.create(careless.url()), {});
    await careless.remove();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'error: DATABASE_URL: the store cannot be opened: data_sync_retry is on, ' +
        'so that a plant could be lost: set it to off\n',
    });
  });

  it('is refused with another encoding, and creates nothing', async () => {
    await operator.query(
      "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0",
    );
    const ascii = new PostgresStore(server.url(), 'ascii');
    const { code, stderr } = await startHere(ascii.url);
    const tables = await ascii.rows("SELECT FROM pg_tables WHERE schemaname = 'public'");
    await ascii.remove();
    expect({ code, stderr, tables }).toEqual({
      code: 1,
      stderr:
        'error: DATABASE_URL: the store cannot be opened: its encoding is SQL_ASCII, not UTF8: ' +
        'make one by `createdb --encoding UTF8 --template template0 plants`\n',
      tables: [],
    });
  });
});

let next = 1n;

describe('a server that is weakened while the service runs', () => {
  it.each([
    ['fsync', 'off'],
    ['full_page_writes', 'off'],
  ])('%s = %s: 503, not ready, and a line', async (name, value) => {
    const client = service.client();
    const known = { id: next++, name: 'oak' };
    const fresh = { id: next++, name: 'oak' };
    expect((await client.create(known)).status).toBe(200);
    const lines = () => service.output.split(`unavailable: ${name} is off, so that`).length;
    const before = lines();
    await set(name, value);
    await notReady(`${name} is ${value}, so that a plant could be lost: set it to on`);
    for (const plant of [known, fresh])
      expect(await client.create(plant)).toMatchObject(UNAVAILABLE);
    expect(lines()).toBe(before + 1);
    await set(name, null);
    await ready();
    for (const plant of [known, fresh]) expect((await client.create(plant)).status).toBe(200);
  });

  it('not by a table that is written anew', async () => {
    const client = service.client();
    expect((await client.create({ id: next++, name: 'oak' })).status).toBe(200);
    for (const rewrite of ['VACUUM FULL plants', 'TRUNCATE plants']) await store.execute(rewrite);
    expect((await client.create({ id: next++, name: 'oak' })).status).toBe(200);
  });

  it.each([
    [
      'a trigger',
      `CREATE FUNCTION drop_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
      CREATE TRIGGER keep BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION drop_row()`,
      'DROP FUNCTION drop_row CASCADE',
      'plants were not inserted, and their ids are not found: a trigger or rule of the table plants keeps them out, which ' +
        'status names, or a policy, or another server took over that lacks them\n',
    ],
    [
      'a rule',
      'CREATE RULE keep AS ON INSERT TO plants DO INSTEAD NOTHING',
      'DROP RULE keep ON plants',
      `relation "plants": \`SELECT rulename, definition FROM pg_rules WHERE tablename = 'plants'\` names the rule: keep its definition, and run \`DROP RULE\` with its name and \`ON plants\``,
    ],
  ])('by %s that keeps plants out: 503, and why', async (_what, make, drop, reason) => {
    const lines = () => service.output.split(reason).length;
    const before = lines();
    await untilNoOutage();
    await store.execute(make);
    const response = await service.client().create({ id: next++, name: 'oak' });
    // The log comes through a pipe of its own.
    while (lines() === before) await sleep(20);
    await store.execute(drop);
    expect(response).toMatchObject(UNAVAILABLE);
    await ready();
  });

  it.each(['off', 'local', 'remote_write'])(
    'synchronous_commit = %s: a plant is stored, and waits for the standby all the same',
    async (value) => {
      await set('synchronous_commit', value);
      await set('client_min_messages', 'error');
      const endWait = () => set('synchronous_standby_names', null);
      expect(await createWaiting(endWait)).toBe(200);
      expect(await createWaiting(abandonWait)).toBe(503);
      for (const name of ['synchronous_commit', 'client_min_messages']) await set(name, null);
    },
  );

  it('synchronous_commit = remote_apply stays: a commit is no weaker than the server wants it', async () => {
    await set('synchronous_commit', 'remote_apply');
    await store.execute(`
      CREATE FUNCTION keep_out() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RETURN CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN NEW END;
      END $$;
      CREATE TRIGGER keep_out BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION keep_out()`);
    const { status } = await service.client().create({ id: next++, name: 'oak' });
    await store.execute('DROP FUNCTION keep_out CASCADE');
    await set('synchronous_commit', null);
    expect(status).toBe(200);
  });

  it('and a node of Citus, which passes a warning on without its routine: no 200', async () => {
    await store.execute(`
      CREATE FUNCTION pass_on() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE WARNING 'canceling wait for synchronous replication due to user request';
        RETURN NEW;
      END $$;
      CREATE TRIGGER pass_on BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION pass_on()`);
    const { status } = await service.client().create({ id: next++, name: 'oak' });
    await store.execute('DROP TRIGGER pass_on ON plants');
    expect(status).toBe(503);
    await ready();
  });

  it('for the role only, which takes effect at login: a plant is not lost', async () => {
    const plant = { id: 50n, name: 'oak' };
    const relogin =
      'SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity ' +
      "WHERE application_name = 'plant-store'";
    await operator.query('ALTER ROLE postgres SET synchronous_commit = off');
    await operator.query(relogin);
    await ready();
    expect((await service.client().create(plant)).status).toBe(200);
    await server.kill();
    await server.start();
    operator = await connect();
    await operator.query('ALTER ROLE postgres RESET synchronous_commit');
    expect(await store.plant(plant.id)).toMatchObject(plant);
    await ready();
  });

  it('while a plant waits in its statement: no 200 is lost when the server is killed', async () => {
    const plant = { id: 100n, name: 'oak' };
    // An uncommitted plant with the same id, which the statement waits for.
    for (const sql of ['BEGIN', "INSERT INTO plants (id, name) VALUES (100, 'elm')"])
      await operator.query(sql);
    const response = service.client().create(plant);
    while ((await store.rows(WAITING)).length === 0) await sleep(20);
    await store.execute('ALTER SYSTEM SET synchronous_commit = off');
    await store.reload();
    await operator.query('ROLLBACK');
    const { status } = await response;
    await server.kill();
    await server.start();
    expect(status).toBe(200);
    expect(await store.plant(plant.id)).toMatchObject(plant);
  });
});
