/** @engine sqlite */
import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, it } from '@jest/globals';
import { MAX_PIPELINED } from '../../src/http/connections.js';
import { requestText } from '../support/raw-connection.js';
import { ENDED, ServiceProcess } from '../support/service-process.js';

let service: ServiceProcess;
afterEach(() => service.remove());

/** Starts the service with its management listener. */
async function start(env: Record<string, string> = {}): Promise<void> {
  service = await ServiceProcess.start({ env: { MANAGEMENT_PORT: '0', ...env } });
}

const readiness = async () => (await service.monitor.ready()).status;
const plant = (content: object = { id: 1, name: 'oak' }) =>
  requestText(service.client().headers, JSON.stringify(content));

/** Stops a service, and lets two open connections send once it refuses new ones. */
async function hangUp() {
  await start({ SHUTDOWN_DELAY: '1s' });
  const [connection, other] = [await service.connect(), await service.connect()];
  const text = plant();
  connection.write(text.slice(0, -5));
  // The service has accepted these connections before the signal.
  await other.write(plant({ id: 0, name: 'oak' })).read();
  const signalled = performance.now();
  service.signal('SIGHUP');
  await service.refuses();
  service.signal('SIGINT');
  other.write('GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n');
  connection.write(text.slice(-5));
  const reads = [connection.read(), other.read({ method: 'GET', path: '/openapi.json' })];
  const responses = await Promise.all(reads.map((response) => response.catch(() => undefined)));
  // Open connections are served for a second after the delay.
  return { responses, isLate: performance.now() - signalled > 1_900 };
}

// SIGTERM and SIGINT: npm-start.e2e.spec.ts
it('SIGHUP: no new connections, the last requests get their responses, which close; the log says it once', async () => {
  let { responses, isLate } = await hangUp();
  while (isLate) {
    await service.remove();
    ({ responses, isLate } = await hangUp());
  }
  for (const response of responses)
    expect(response).toMatchObject({ status: 200, headers: { connection: 'close' } });
  expect(await service.exited).toEqual(ENDED);
  expect(await service.store.count()).toBe(2);
  const lines = service.output.split('\n').filter((line) => line.includes('[Shutdown]'));
  expect(lines).toEqual([
    expect.stringMatching(/SIGHUP: stopping$/),
    expect.stringMatching(/ stopped$/),
  ]);
});

it('SIGUSR1, as log rotation sends it, opens no debugger', async () => {
  await start();
  const printed = service.output;
  service.signal('SIGUSR1');
  expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
  expect(service.output).toBe(printed);
});

it.each(['SIGINT', 'SIGTERM'] as const)(
  '%s again and again until the end: it exits 0',
  async (signal) => {
    await start();
    const signals = setInterval(() => service.signal(signal), 1);
    expect(await service.exited).toEqual(ENDED);
    clearInterval(signals);
    expect(service.output.match(/: stopping$/gm)).toHaveLength(1);
  },
);

it('a client that negotiates TLS does not hold up a stop beyond SHUTDOWN_TIMEOUT', async () => {
  // Shorter than a handshake may take.
  service = await ServiceProcess.start({ isTls: true, env: { SHUTDOWN_TIMEOUT: '2s' } });
  const negotiating = await service.connect();
  // By then the service has accepted it.
  await service.client().create({ id: 0n, name: 'oak' });
  service.signal('SIGTERM');
  await negotiating.closed();
  expect(await service.exited).toEqual(ENDED);
});

it('a stop that cannot close the store exits 1', async () => {
  const from = pathToFileURL(resolve('package.json')).href;
  const script = `
    import { createRequire } from 'node:module';
    createRequire('${from}')('better-sqlite3').prototype.close = () => {
      throw new Error('the disk is gone');
    };`;
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(script)}`;
  await start({ NODE_OPTIONS });
  service.signal('SIGTERM');
  expect(await service.exited).toEqual({ code: 1, signal: null });
  expect(service.output).toMatch(
    /the disk is gone[^]*the store could not be closed[^]*not in order/,
  );
});

it('SHUTDOWN_DELAY passes with requests served and /readyz at 503', async () => {
  await start({ SHUTDOWN_DELAY: '60s' });
  const client = service.client(1);
  expect(await readiness()).toBe(200);
  service.signal('SIGTERM');
  while ((await readiness()) !== 503);
  const served = { status: 200, headers: { connection: 'keep-alive' } };
  for (let id = 0n; id < 5n; id++)
    expect(await client.create({ id, name: 'n' })).toMatchObject(served);
  // A new connection is served too, and a second signal changes nothing.
  service.signal('SIGTERM');
  expect((await service.client(1).create({ id: 5n, name: 'n' })).status).toBe(200);
  expect(await readiness()).toBe(503);
  expect(await service.store.count()).toBe(6);
});

it('SHUTDOWN_TIMEOUT cuts off clients that do not read or do not finish, and the stop succeeds', async () => {
  // Clients are cut off after 4 s: a busy machine has 2 s for the rest.
  await start({ SHUTDOWN_TIMEOUT: '6s' });
  const { headers } = service.client();
  const page = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';
  const starts = [
    page.repeat(MAX_PIPELINED),
    plant().slice(0, -5),
    requestText({ ...headers, 'content-length': '100' }, '{"id":1'),
    'POST /plants HTTP/1.1\r\nhost:',
    '',
  ];
  const stuck = await Promise.all(
    starts.map(async (bytes) => (await service.connect()).write(bytes)),
  );
  for (const { socket } of stuck) socket.pause();
  const { socket } = await service.connect();
  socket.pause();
  const name = 'n'.repeat(60_000);
  // The service can write until the kernel's buffers, some megabytes, are full.
  for (let id = 2; await isTaken(socket, plant({ id, name })); id++);
  expect(await service.stop()).toEqual(ENDED);
  expect(await service.store.rows('SELECT id FROM plants WHERE id = 1')).toEqual([]);
  for (const one of [socket, ...stuck.map((connection) => connection.socket)]) one.destroy();
});

/** Whether the kernel accepts bytes to send within a second. */
function isTaken(socket: Socket, bytes: string): Promise<boolean> {
  return new Promise((resolve) => {
    socket.write(bytes, (error) => resolve(!error));
    setTimeout(resolve, 1_000, false);
  });
}
