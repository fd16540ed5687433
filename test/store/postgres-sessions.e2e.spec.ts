/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client as Postgres } from 'pg';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresStore } from '../support/postgres-store.js';
import { ServiceProcess } from '../support/service-process.js';

/** As docs/operating.md says. */
const CONNECTIONS = 8;
const CLIENTS = 32;
const SESSIONS =
  "SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'plant-store'";
const RELOAD = 'SELECT pg_reload_conf()';

let server: PostgresServer;
let store: PostgresStore;
let service: ServiceProcess;
let operator: Postgres;
beforeAll(async () => {
  server = await PostgresServer.start();
  store = await PostgresStore.create(server.url());
  // A statement then has 0.4 s.
  service = await ServiceProcess.start({ store, env: { DATABASE_TIMEOUT: '1s' } });
  operator = new Postgres({ connectionString: store.url });
  await operator.connect();
});
afterAll(async () => {
  await operator.end();
  await service.remove();
  await server.remove();
});

async function operate(...statements: string[]): Promise<void> {
  for (const sql of statements) await operator.query(sql);
}

it.each([
  ['is locked', ['BEGIN', 'LOCK TABLE plants IN ACCESS EXCLUSIVE MODE'], ['ROLLBACK']],
  [
    'waits for a standby that hangs',
    ["ALTER SYSTEM SET synchronous_standby_names = 'nobody'", RELOAD],
    ['ALTER SYSTEM RESET synchronous_standby_names', RELOAD],
  ],
])('a table that %s: 503, and no more sessions than before', async (_name, stop, go) => {
  const client = service.client(CLIENTS);
  const statuses = new Set<number>();
  let isStopped = true;
  let id = 0n;
  const send = async () => {
    while (isStopped) statuses.add((await client.create({ id: id++, name: 'oak' })).status);
  };
  await operate(...stop);
  await sleep(200);
  const sending = Array.from({ length: CLIENTS }, send);
  let most = 0;
  for (let i = 0; i < 40; i++) {
    await sleep(50);
    // Not by the operator, to whom nothing changes within a transaction.
    const [row] = await store.rows<{ count: number }>(SESSIONS);
    most = Math.max(most, row?.count ?? NaN);
  }
  isStopped = false;
  await Promise.all(sending);
  await operate(...go);
  expect(most).toBeLessThanOrEqual(CONNECTIONS);
  expect([...statuses]).toEqual([503]);
  while ((await client.create({ id: 0n, name: 'oak' })).status !== 200) await sleep(50);
});
