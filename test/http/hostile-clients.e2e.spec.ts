/** @engine sqlite */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from '@jest/globals';
import { NODE_OPTIONS } from '../../drill/fuzz/crowd.js';
import { MAX_PIPELINED } from '../../src/http/connections.js';
import type { Client } from '../support/client.js';
import { serviceProcess as service, startProcess } from '../support/own.js';
import { requestText, type RawConnection } from '../support/raw-connection.js';

const range = (length: number) => Array.from({ length }, (_, i) => i);
const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const CHUNKED = `POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(9_000)}`;
const THOUSANDS = 'GET / HTTP/1.1\r\n\r\n'.repeat(3_000);
const BUNDLE = '/docs/swagger-ui-bundle.js';
/** The number of open file descriptors of the service. */
const files = () => readdirSync(`/proc/${service.pid}/fd`).length;

// Longer than a busy machine holds up a test that locks the store.
startProcess({ env: { DATABASE_TIMEOUT: '60s', NODE_OPTIONS } });
let client: Client;
beforeAll(() => {
  client = service.client(1);
});

/** Checks that the service still stores plants. */
async function expectServing(): Promise<void> {
  expect((await client.create({ id: -1n, name: 'oak' })).status).toBe(200);
}

it.each([
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'],
  ['an upgrade', 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
  ['no HTTP', '\x16\x03\x01\r\n\r\n'],
  ['half a request', 'POST /plants HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{'],
  ['many requests', GET(BUNDLE).repeat(50)],
])(
  'a client that resets its connection after %s: the service keeps serving',
  async (_name, bytes) => {
    for (const delay of [...range(20), 50]) {
      const { socket } = (await service.connect()).write(bytes);
      await sleep(delay);
      socket.write(bytes);
      socket.resetAndDestroy();
    }
    await expectServing();
  },
);

it('invalid HTTP is refused once, even in many pieces while a response is due', async () => {
  await expectServing();
  const unlock = await service.store.lock();
  const connection = await service.connect();
  connection.write(requestText(client.headers, '{"id":-3,"name":"oak"}'));
  for (let i = 0; i < 50; i++) {
    connection.write('\0');
    await sleep(2);
  }
  await unlock();
  expect(await connection.read()).toMatchObject({ status: 200, body: { name: 'oak' } });
  await connection.closed();
  // Repeated refusals would leak listeners, and Node would warn.
  expect(service.output).not.toContain('MaxListeners');
});

it('unread pages hold one file beside the connection, and nothing once the client has gone', async () => {
  await expectServing();
  const before = files();
  const hoses: RawConnection[] = await Promise.all(range(20).map(() => service.connect()));
  for (const { socket } of hoses) {
    socket.pause();
    socket.write(GET(BUNDLE).repeat(MAX_PIPELINED));
  }
  await expectServing();
  expect(files()).toBeLessThanOrEqual(before + 2 * hoses.length);
  for (const hose of hoses) hose.close();
  while (files() > before) await sleep(20);
});

it.each([
  ['thousands of requests', THOUSANDS, false],
  ['thousands of requests of a client that resets its connection', THOUSANDS, true],
  ['a request too many, in tiny chunks,', GET('/').repeat(MAX_PIPELINED) + CHUNKED, false],
])(
  '%s in one read on each of 120 connections do not use up the heap',
  async (_name, text, isReset) => {
    await expectServing();
    const before = files();
    const hoses = await Promise.all(range(120).map(() => service.connect()));
    while (files() < before + hoses.length) await sleep(20);
    const bytes = Buffer.from(text);
    // The service reads them all in one turn of its event loop.
    service.signal('SIGSTOP');
    await Promise.all(
      hoses.map(({ socket }) => new Promise((resolve) => socket.write(bytes, resolve))),
    );
    // The service can then read what was sent, and write nothing.
    if (isReset) for (const { socket } of hoses) socket.resetAndDestroy();
    service.signal('SIGCONT');
    await Promise.all(hoses.map((hose) => hose.closed()));
    await expectServing();
  },
);

it('out of file descriptors: survives, and serves again when some are free', async () => {
  await expectServing();
  const room = `--nofile=${files() + 10}`;
  execFileSync('prlimit', ['--pid', `${service.pid}`, room]);
  const sockets = range(100).map(() => connect(service.port, '127.0.0.1'));
  // The kernel connects them all; the service closes those that it has no descriptor for.
  await Promise.race(
    sockets.map((socket) => {
      socket.on('error', () => undefined).resume();
      return new Promise((resolve) => socket.once('close', resolve));
    }),
  );
  for (const socket of sockets) socket.destroy();
  let status = 0;
  const send = () => client.create({ id: -2n, name: 'oak' });
  while (status !== 200) ({ status } = await send().catch(() => ({ status })));
});
