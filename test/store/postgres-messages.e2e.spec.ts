/** @engine postgres */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { duplicate, MessageProxy } from '../../drill/postgres/message-proxy.js';
import { PostgresStore } from '../support/postgres-store.js';
import { ServiceProcess } from '../support/service-process.js';

const CLIENTS = 16;
/** Far more than it takes for a repeated message to meet the next statement. */
const SPOILED = 60;

let store: PostgresStore;
let service: ServiceProcess;
let proxy: MessageProxy;
beforeAll(async () => {
  const url = new URL(process.env.TEST_DATABASE_URL ?? '');
  const started = await MessageProxy.start(Number(url.port), [duplicate]);
  proxy = started.proxy;
  url.port = String(started.port);
  store = await PostgresStore.create(url.href);
  service = await ServiceProcess.start({ store });
});
afterAll(async () => {
  await service.remove();
  await proxy.stop();
});

it('a message of the server that comes twice: 200 or 503, never the result of another statement', async () => {
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
