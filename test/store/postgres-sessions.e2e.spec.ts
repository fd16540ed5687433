/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Client as Postgres } from 'pg';
import { createSecret } from '../../src/auth/tokens/token-secret.js';
import { encryptServer } from '../support/certificate.js';
import { runHere } from '../support/cli.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresStore } from '../support/postgres-store.js';
import { Proxy } from '../support/proxy.js';
import { ServiceProcess } from '../support/service-process.js';

/** As in docs/operating.md. */
const CONNECTIONS = 8;
const SPARE = 2;
/** Groups of creates in flight, each on a connection. */
const GROUPS = 4;
const CLIENTS = 32;
/** Milliseconds that a statement may take. */
const STATEMENT_TIMEOUT = 400;
const WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
/** The first message of a client that asks for TLS. */
const SSL_REQUEST = '0000000804d2162f';

let server: PostgresServer;
let store: PostgresStore;
let service: ServiceProcess;
let operator: Postgres;
beforeAll(async () => {
  server = await PostgresServer.start();
  store = await PostgresStore.create(server.url());
  // Makes a waiting session end with its connection.
  await store.execute("ALTER ROLE postgres SET client_connection_check_interval = '100ms'");
  service = await ServiceProcess.start({ store, env: { DATABASE_TIMEOUT: '1s' } });
  operator = new Postgres({ connectionString: store.url });
  await operator.connect();
  // While the operator holds the lock, inserts of oaks wait and cannot be cancelled.
  await operate(
    `CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      LOOP
        BEGIN
          PERFORM pg_advisory_xact_lock_shared(1);
          RETURN NEW;
        EXCEPTION WHEN query_canceled THEN
        END;
      END LOOP;
    END $$`,
    `CREATE TRIGGER hold BEFORE INSERT ON plants FOR EACH ROW WHEN (NEW.name = 'oak')
    EXECUTE FUNCTION hold()`,
  );
});
afterAll(async () => {
  await operator.end();
  await service.remove();
  await server.remove();
});

/** Releases what a test that failed may still hold. */
afterEach(async () => {
  await operate('ROLLBACK', 'SELECT pg_advisory_unlock_all()');
  await operate('ALTER SYSTEM RESET synchronous_standby_names');
  await store.reload();
});

async function operate(...statements: string[]): Promise<void> {
  for (const sql of statements) await operator.query(sql);
}

/** The number of the service's sessions. Not by the operator, whose transaction sees no changes. */
async function countSessions(): Promise<number> {
  const sql = "SELECT FROM pg_stat_activity WHERE application_name = 'plant-store'";
  return (await store.rows(sql)).length;
}

/** The highest number of sessions in two seconds. */
async function watchSessions(): Promise<number> {
  let most = 0;
  for (let i = 0; i < 40; i++) {
    await sleep(50);
    most = Math.max(most, await countSessions());
  }
  return most;
}

/** Sends creates until stopped, clients 10 ms apart: together they would share a group. Resolves to their statuses. */
function load(): () => Promise<number[]> {
  const client = service.client(CLIENTS);
  const statuses = new Set<number>();
  let isStopped = false;
  let id = 0n;
  const send = async (_: unknown, i: number) => {
    await sleep(10 * i);
    while (!isStopped) statuses.add((await client.create({ id: id++, name: 'oak' })).status);
  };
  const sending = Array.from({ length: CLIENTS }, send);
  return async () => {
    isStopped = true;
    await Promise.all(sending);
    return [...statuses];
  };
}

async function untilStored(): Promise<void> {
  const client = service.client();
  while ((await client.create({ id: 0n, name: 'oak' })).status !== 200) await sleep(50);
}

it.each([
  ['is locked', ['BEGIN', 'LOCK TABLE plants IN ACCESS EXCLUSIVE MODE'], ['ROLLBACK']],
  [
    'waits for a standby that hangs',
    ["ALTER SYSTEM SET synchronous_standby_names = 'nobody'"],
    ['ALTER SYSTEM RESET synchronous_standby_names'],
  ],
])('a table that %s: 503, and few more sessions', async (_name, stop, go) => {
  await operate(...stop);
  await store.reload();
  const end = load();
  const most = await watchSessions();
  const statuses = await end();
  await operate(...go);
  await store.reload();
  expect(most).toBeGreaterThanOrEqual(GROUPS);
  expect(most).toBeLessThanOrEqual(CONNECTIONS + SPARE);
  expect(statuses).toEqual([503]);
  await untilStored();
});

it('statements that cannot be cancelled use up the sessions, and further requests get 503 at once', async () => {
  await operate('SELECT pg_advisory_lock(1)');
  const end = load();
  expect(await watchSessions()).toBe(CONNECTIONS + SPARE);
  expect(await end()).toEqual([503]);
  const client = service.client();
  const unknown = { ...client.headers, authorization: `Bearer ${createSecret()}` };
  const asked = performance.now();
  const statuses = new Set<number>();
  for (let i = 0; i < 10; i++) {
    statuses.add((await client.create({ id: 1n, name: 'oak' })).status);
    statuses.add((await client.post('{"id":1,"name":"oak"}', unknown)).status);
  }
  // Otherwise each of the 20 would wait for a connection.
  expect(performance.now() - asked).toBeLessThan(10 * STATEMENT_TIMEOUT);
  expect([...statuses]).toEqual([503]);
  await operate('SELECT pg_advisory_unlock(1)');
  await untilStored();
  while ((await countSessions()) > CONNECTIONS) await sleep(20);
});

it('gives up a session that has hung for ten timeouts while others commit', async () => {
  const client = service.client();
  await operate('SELECT pg_advisory_lock(1)');
  // Before all turns: the session that hangs may be of an earlier one.
  const asked = performance.now();
  let hanging: readonly { pid?: bigint }[];
  // A slow machine may cancel a statement before it comes to the lock.
  do {
    expect((await client.create({ id: -2n, name: 'oak' })).status).toBe(503);
    hanging = await store.rows(WAITING);
  } while (hanging.length === 0);
  const open = `SELECT FROM pg_stat_activity WHERE pid = ${hanging[0]?.pid}`;
  const statuses: number[] = [];
  while ((await store.rows(open)).length > 0) {
    statuses.push((await client.create({ id: -3n, name: 'elm' })).status);
    await sleep(100);
  }
  // A busy machine may take longer for one than DATABASE_TIMEOUT.
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(statuses.length / 2);
  // Not earlier: the server may be slow to end the statement.
  expect(performance.now() - asked).toBeGreaterThan(10 * STATEMENT_TIMEOUT);
  await operate('SELECT pg_advisory_unlock(1)');
});

it('a role that may have few connections: a request waits for one of them', async () => {
  await operate(
    'CREATE ROLE limited LOGIN CONNECTION LIMIT 1',
    'GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO limited',
  );
  const env = {
    DATABASE_URL: store.url.replace('postgres@', 'limited@'),
    // Not beaten by a busy machine.
    DATABASE_TIMEOUT: '60s',
    MIGRATE: 'off',
  };
  const limited = await ServiceProcess.start({ store, token: service.token, env });
  const client = limited.client();
  const unlock = await store.lock();
  const first = client.create({ id: -5n, name: 'elm' });
  while ((await store.rows(WAITING)).length === 0) await sleep(20);
  // It cannot share the commit of the first.
  const second = client.create({ id: -6n, name: 'elm' });
  await Promise.race([second, sleep(500)]);
  await unlock();
  expect([(await first).status, (await second).status]).toEqual([200, 200]);
  await limited.kill();
  await operate('DROP OWNED BY limited', 'DROP ROLE limited');
});

it('cancels a statement over TLS if the connection uses TLS', async () => {
  const certificate = await encryptServer(server, store);
  // Only the cancel request ends its statement.
  await operate('ALTER ROLE postgres RESET client_connection_check_interval');
  const proxy = await Proxy.start(server.port);
  const url = new URL(store.url);
  url.host = `localhost:${proxy.port}`;
  url.search = `sslmode=verify-full&sslrootcert=${certificate}`;
  const env = { DATABASE_TIMEOUT: '1s', DATABASE_URL: url.href };
  const encrypted = await ServiceProcess.start({ store, token: service.token, env });
  const unlock = await store.lock();
  expect((await encrypted.client().create({ id: -4n, name: 'elm' })).status).toBe(503);
  while ((await store.rows(WAITING)).length > 0) await sleep(20);
  await unlock();
  await encrypted.kill();
  await proxy.stop();
  expect([...new Set(proxy.openings.map((bytes) => bytes.toString('hex')))]).toEqual([SSL_REQUEST]);

  const untrusted = `${store.url}?sslmode=verify-full`;
  expect(
    await runHere(['migrate'], { cwd: server.data, env: { DATABASE_URL: untrusted } }),
  ).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/self-signed certificate; .*\n$/),
  });
});
