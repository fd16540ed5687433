/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { duplicate, MessageProxy, type Fault } from '../../drill/postgres/message-proxy.js';
import { PostgresStore } from '../support/postgres-store.js';
import { ServiceProcess } from '../support/service-process.js';

const CLIENTS = 16;
/** Far more than it takes for a repeated message to meet the next statement. */
const SPOILED = 60;

let store: PostgresStore;
let service: ServiceProcess;
let proxy: MessageProxy;
afterEach(async () => {
  await service.remove();
  await proxy.stop();
});

/** Starts a service behind a proxy. The test itself asks the server directly: its own connection must not be spoiled. */
async function start(faults: readonly Fault[], share?: number): Promise<void> {
  store = await PostgresStore.create(process.env.TEST_DATABASE_URL ?? '');
  const url = new URL(store.url);
  const started = await MessageProxy.start(Number(url.port), faults, share);
  proxy = started.proxy;
  url.port = String(started.port);
  service = await ServiceProcess.start({ store, env: { DATABASE_URL: url.href } });
}

it('a message of the server that comes twice: 200 or 503, never the result of another statement', async () => {
  await start([duplicate]);
  const client = service.client(CLIENTS);
  const statuses = new Map<bigint, number>();
  let next = 0n;
  proxy.isFaulty = true;
  const run = async (): Promise<void> => {
    while (proxy.spoiled < SPOILED) {
      const id = next++;
      statuses.set(id, (await client.create({ id, name: 'oak' })).status);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, run));
  proxy.isFaulty = false;
  const stored = new Set((await store.plants()).map(({ id }) => id));
  const acknowledged = [...statuses.keys()].filter((id) => statuses.get(id) === 200);
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  expect(acknowledged).not.toEqual([]);
  expect(new Set(statuses.values())).toEqual(new Set([200, 503]));
});

it('a session that begins with the result of another statement is closed', async () => {
  const others = (message: Buffer) =>
    Buffer.from(message.toString('latin1').replace('SET', 'BET'), 'latin1');
  await start([(message, client) => client.write(others(message))], 1);
  const client = service.client();
  expect((await client.create({ id: 1n, name: 'oak' })).status).toBe(200);
  proxy.isFaulty = true;
  const ours =
    "FROM pg_stat_activity WHERE application_name = 'plant-store' AND datname = current_database()";
  await store.execute(`SELECT pg_terminate_backend(pid) ${ours}`);
  for (let id = 2n; id < 20n; id++)
    expect((await client.create({ id, name: 'oak' })).status).toBe(503);
  proxy.isFaulty = false;
  // An inspection that began beside the fault may have found it: creates are refused until the next one.
  let status = 503;
  while (status === 503) ({ status } = await client.create({ id: 2n, name: 'oak' }));
  expect(status).toBe(200);
  // Far fewer than were begun.
  while ((await store.rows(`SELECT ${ours}`)).length > 4) await sleep(20);
});
