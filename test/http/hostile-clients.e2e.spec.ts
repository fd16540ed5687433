/** @engine sqlite */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { residentMb } from '../../bench/machine.js';
import { Crowd, crowdKinds, MAX_RESIDENT_MB, NODE_OPTIONS } from '../../drill/fuzz/crowd.js';
import { getConnection } from '../../src/http/limits/connection.js';
import type { Client } from '../support/client.js';
import { requestText, type RawConnection } from '../support/raw-connection.js';
import { ServiceProcess } from '../support/service-process.js';
import { Service } from '../support/service.js';

const range = (length: number) => Array.from({ length }, (_, i) => i);
const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const BUNDLE = '/docs/swagger-ui-bundle.js';
/** The number of open file descriptors of the service. */
const files = ({ pid }: ServiceProcess) => readdirSync(`/proc/${pid}/fd`).length;

/** The head of a request without a length. */
function head(headers: Readonly<Record<string, string>>): string {
  return requestText(headers).replace('content-length: 0\r\n', '');
}

let service: ServiceProcess;
let client: Client;
beforeAll(async () => {
  // Longer than a busy machine holds up a test that locks the store.
  service = await ServiceProcess.start({ env: { DATABASE_TIMEOUT: '60s' } });
  client = service.client(1);
});
afterAll(() => service.remove());

/** Checks that the service still stores plants. */
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
    ['many requests', GET(BUNDLE).repeat(50)],
  ])('%s: the service keeps serving', async (_name, bytes) => {
    for (const delay of [...range(20), 50]) {
      const { socket } = (await service.connect()).write(bytes);
      await sleep(delay);
      socket.write(bytes);
      socket.resetAndDestroy();
    }
    await expectServing();
  });
});

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

it('unread pages hold a file for each connection, and nothing once the client has gone', async () => {
  await expectServing();
  const before = files(service);
  const hoses: RawConnection[] = await Promise.all(range(20).map(() => service.connect()));
  for (const { socket } of hoses) {
    socket.pause();
    socket.write(GET(BUNDLE).repeat(5_000));
  }
  await expectServing();
  expect(files(service)).toBeLessThanOrEqual(before + 2 * hoses.length);
  for (const hose of hoses) hose.close();
  while (files(service) > before) await sleep(20);
  await expectServing();
  // More pages were asked for than are sent at once.
  expect(await client.send({ method: 'GET', path: '/docs' })).toMatchObject({ status: 200 });
});

it('endless blank lines end a connection, long before a request is due', async () => {
  const { socket } = await service.connect();
  const closed = once(socket, 'close');
  while (!socket.destroyed) {
    socket.write('\r\n'.repeat(32_768));
    await sleep(5);
  }
  await closed;
  expect(socket.bytesWritten).toBeLessThan(10_000_000);
  await expectServing();
});

it('a request counts no memory once it has its response, even one that comes before its end', async () => {
  const own = await Service.start();
  const accepted = once(own.app.getHttpServer(), 'connection');
  const connection = await own.connect();
  const [socket] = (await accepted) as [Socket];
  const countBytes = () => getConnection({ socket } as IncomingMessage).memory.requestBytes;
  for (const body of ['{"id":1,"name":"n"}', '{', '{', '{']) {
    connection.write(requestText(own.client.headers, body));
    expect(await connection.read()).toMatchObject({ status: body === '{' ? 400 : 200 });
  }
  for (let tries = 0; countBytes() > 0 && tries < 100; tries++) await sleep(10);
  expect(countBytes()).toBe(0);
  connection.close();
  await own.stop();
});

describe('an endless body in chunks of one byte is cut off', () => {
  it.each([
    ['without a token', 'POST /plants', () => ({})],
    ['with one', 'POST /plants', () => client.headers],
    ['to the docs page', 'GET /docs', () => ({})],
  ])('%s', async (_name, start, headers) => {
    const { socket } = await service.connect();
    socket.pause();
    socket.write(
      head({ ...headers(), 'transfer-encoding': 'chunked' }).replace('POST /plants', start),
    );
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const shreds = '1\r\n \r\n'.repeat(1_000);
    while (!socket.destroyed) {
      socket.write(shreds);
      await sleep(5);
    }
    await closed;
    await expectServing();
  });
});

it('nothing is read behind 16 responses that are not read', async () => {
  const { socket } = await service.connect();
  socket.pause();
  socket.write(GET(BUNDLE).repeat(16));
  // Either the connection is closed, or what is sent stays with the client.
  while (!socket.destroyed && socket.writableLength < 1_000_000) {
    socket.write('1\r\n \r\n'.repeat(10_000));
    await sleep(5);
  }
  expect(socket.bytesWritten).toBeLessThan(20_000_000);
  await expectServing();
  socket.destroy();
});

it('a body in many chunks of a fair size is accepted', async () => {
  const body = `{"id":-9,"name":"n"}${' '.repeat(60_000)}`;
  const pieces = [...body.matchAll(/.{1,256}/g)].map(([piece]) => piece);
  const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('');
  const connection = await service.connect();
  connection.write(
    `${head({ ...client.headers, 'transfer-encoding': 'chunked' })}${chunks}0\r\n\r\n`,
  );
  expect(await connection.read()).toMatchObject({ status: 200, body: { name: 'n' } });
  connection.close();
});

it('out of file descriptors: survives, logs it once, and serves again when some are free', async () => {
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

describe('a crowd without tokens', () => {
  let attacked: ServiceProcess;
  let crowd: Crowd;
  afterEach(async () => {
    crowd.stop();
    await attacked.remove();
  });

  it.each([
    ['TCP', '5,400 headers, then no body', 1_500],
    ['TCP', '16 docs pages, 2,600 headers each, unread', 500],
    ['TCP', '401s, each as soon as the one before', 1_500],
    ['TLS', '16 docs pages, 2,600 headers each, unread', 300],
    ['TLS', 'slow handshake', 3_500],
  ])('over %s: %s: the service keeps serving, in 400 MiB', async (protocol, kind, connections) => {
    const isTls = protocol === 'TLS';
    const env = { LOG_REQUESTS: 'errors', NODE_OPTIONS };
    attacked = await ServiceProcess.start({ isTls, env });
    const { port } = attacked;
    const kinds = crowdKinds(isTls).filter(({ name }) => name === kind);
    crowd = new Crowd({ port, isTls, kinds, connections });
    while (crowd.opened < connections) await sleep(20);
    for (const id of range(20)) {
      const honest = attacked.client(1);
      expect((await honest.create({ id: BigInt(id), name: 'oak' })).status).toBe(200);
      honest.close();
    }
    expect(residentMb(attacked.pid, 'VmHWM')).toBeLessThan(MAX_RESIDENT_MB);
  });
});
