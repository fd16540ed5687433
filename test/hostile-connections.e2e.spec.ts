import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MAX_UNANSWERED } from '../src/http/connection.js';
import type { PlantStoreAdapter } from '../src/http/plant-store.adapter.js';
import type { Client } from './support/client.js';
import { requestText, type RawConnection } from './support/raw-connection.js';
import { ServiceProcess } from './support/service-process.js';
import { Service } from './support/service.js';

const range = (length: number) => Array.from({ length }, (_, i) => i);
const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
/** Its open file descriptors. */
const files = ({ pid }: ServiceProcess) => readdirSync(`/proc/${pid}/fd`).length;

/** Its resident memory. */
function residentBytes({ pid }: ServiceProcess): number {
  return 1_024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

let service: ServiceProcess;
let client: Client;
beforeAll(async () => {
  service = await ServiceProcess.start();
  client = service.client(1);
});
afterAll(() => service.remove());

/** The service still takes plants. */
async function expectServing(): Promise<void> {
  expect((await client.create({ id: -1n, name: 'oak' })).status).toBe(200);
}

describe('a client that resets its connection', () => {
  it.each([
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'],
    [
      'an upgrade',
      'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    ],
    ['no HTTP', '\x16\x03\x01\r\n\r\n'],
    ['half a request', 'POST /plants HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{'],
    ['many requests', GET('/docs/swagger-ui-bundle.js').repeat(50)],
  ])('%s: the service goes on', async (_name, bytes) => {
    for (const delay of [...range(20), 50]) {
      const { socket } = (await service.connect()).write(bytes);
      await sleep(delay);
      socket.write(bytes);
      socket.resetAndDestroy();
    }
    await expectServing();
  });
});

it('answers that nobody reads take neither files nor, when their client is gone, anything', async () => {
  await expectServing();
  const before = files(service);
  const hoses: RawConnection[] = await Promise.all(range(20).map(() => service.connect()));
  for (const { socket } of hoses) {
    socket.pause();
    socket.write(GET('/docs/swagger-ui-bundle.js').repeat(5_000));
  }
  await expectServing();
  // Files of the docs page are in memory.
  expect(files(service)).toBeLessThanOrEqual(before + hoses.length);
  for (const hose of hoses) hose.close();
  while (files(service) > before) await sleep(20);
  await expectServing();
});

it('all of a long pipeline is answered, in its order, to a client that reads', async () => {
  const connection = await service.connect();
  const { headers } = client;
  const all = range(20 * MAX_UNANSWERED);
  connection.write(all.map((id) => requestText(headers, `{"id":${id},"name":"n${id}"}`)).join(''));
  for (const id of all) {
    expect(await connection.read()).toMatchObject({ status: 200, body: { name: `n${id}` } });
  }
  connection.close();
});

it('of one connection 16 requests are served at once, and one that is cut off leaves none behind', async () => {
  const locked = await Service.start();
  const { exchanges } = locked.app.getHttpAdapter() as unknown as PlantStoreAdapter;
  const unlock = await locked.store.lock();
  const connection = await locked.connect();
  const text = (id: number) => requestText(locked.client.headers, `{"id":${id},"name":"n"}`);
  connection.write(range(100).map(text).join(''));
  while (exchanges.underWay < MAX_UNANSWERED) await sleep(10);
  await sleep(200);
  expect(exchanges.underWay).toBe(MAX_UNANSWERED);
  connection.close();
  while (exchanges.underWay > 0) await sleep(10);
  await unlock();
  await locked.stop();
});

it('bodies in chunks of one byte take no more memory than their bytes', async () => {
  const before = residentBytes(service);
  const open = await Promise.all(range(8).map(() => service.connect()));
  const head = requestText({ ...client.headers, 'transfer-encoding': 'chunked' });
  for (const connection of open) {
    connection.write(head.replace(/content-length: 0\r\n/, ''));
    connection.write(`1\r\n{\r\n${'1\r\n \r\n'.repeat(60_000)}`);
  }
  // Each of them is read to where it stands before its end is answered.
  for (const connection of open) connection.write('1\r\n}\r\n0\r\n\r\n');
  for (const connection of open) expect(await connection.read()).toMatchObject({ status: 400 });
  expect(residentBytes(service) - before).toBeLessThan(100 * 2 ** 20);
  for (const connection of open) connection.close();
});

it('without file descriptors left it survives, says so once, and goes on when there are some', async () => {
  await expectServing();
  const room = `--nofile=${files(service) + 10}`;
  execFileSync('prlimit', ['--pid', `${service.pid}`, room]);
  const sockets = range(100).map(() => connect(service.port, '127.0.0.1'));
  for (const socket of sockets) socket.on('error', () => undefined);
  await sleep(500);
  for (const socket of sockets) socket.destroy();
  let status = 0;
  const send = () => client.create({ id: -2n, name: 'oak' });
  while (status !== 200) ({ status } = await send().catch(() => ({ status })));
  expect(service.output.split('was not accepted').length - 1).toBeLessThanOrEqual(1);
});
