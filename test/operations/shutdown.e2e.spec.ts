/** @engine sqlite */
import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Monitor } from '../support/monitor.js';
import { requestText } from '../support/raw-connection.js';
import { ServiceProcess } from '../support/service-process.js';

let service: ServiceProcess;
afterEach(() => service.remove());

let monitor: Monitor;

/** Starts the service with its management listener. */
async function start(env: Record<string, string> = {}): Promise<void> {
  service = await ServiceProcess.start({ env: { MANAGEMENT_PORT: '0', ...env } });
  monitor = Monitor.of(service);
}

const readiness = async () => (await monitor.ready()).status;
const plant = (content: object = { id: 1, name: 'oak' }) =>
  requestText(service.client().headers, JSON.stringify(content));

describe('a signal to end', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s: accepts no new connections and finishes the last request',
    async (signal) => {
      await start();
      const connection = await service.connect();
      const text = plant();
      connection.write(text.slice(0, -5));
      // The service has accepted this connection before the signal.
      await service.client().create({ id: 0n, name: 'oak' });
      service.signal(signal);
      await refused();
      connection.write(text.slice(-5));
      const { status, headers } = await connection.read();
      expect({ status, connection: headers.connection }).toEqual({
        status: 200,
        connection: 'close',
      });
      expect(await service.exited).toEqual({ code: 0, signal: null });
      expect(await service.store.count()).toBe(2);
    },
  );

  it('makes every response close its connection, pages too', async () => {
    await start();
    const connection = await service.connect();
    await connection.write(plant()).read();
    service.signal('SIGTERM');
    await refused();
    connection.write('GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n');
    const { headers } = await connection.read({ method: 'GET', path: '/openapi.json' });
    expect(headers.connection).toBe('close');
    expect(await service.exited).toEqual({ code: 0, signal: null });
  });

  it('is not delayed forever by clients that never finish', async () => {
    await start({ SHUTDOWN_TIMEOUT: '4s' });
    const starts = [plant().slice(0, -5), 'POST /plants HTTP/1.1\r\nhost:', ''];
    const connections = await Promise.all(
      starts.map(async (bytes) => (await service.connect()).write(bytes)),
    );
    await service.client().create({ id: 0n, name: 'oak' });
    service.signal('SIGTERM');
    const heldUp = new Promise((resolve) => {
      setTimeout(resolve, 20_000, 'held up').unref();
    });
    expect(await Promise.race([service.exited, heldUp])).toEqual({ code: 0, signal: null });
    for (const connection of connections) connection.close();
  });
});

it('a client that negotiates TLS does not hold up a stop beyond SHUTDOWN_TIMEOUT', async () => {
  // Shorter than a handshake may take.
  service = await ServiceProcess.start({ isTls: true, env: { SHUTDOWN_TIMEOUT: '2s' } });
  const negotiating = await service.connect();
  // By then the service has accepted it.
  await service.client().create({ id: 0n, name: 'oak' });
  service.signal('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
  negotiating.close();
});

describe('the log of a stop', () => {
  it('says once why it began, and how it ended', async () => {
    await start();
    const connection = await service.connect();
    connection.write(plant().slice(0, -5));
    await service.client().create({ id: 0n, name: 'oak' });
    service.signal('SIGTERM');
    await refused();
    service.signal('SIGINT');
    connection.write(plant().slice(-5));
    await connection.read();
    expect(await service.exited).toEqual({ code: 0, signal: null });
    const lines = service.output.split('\n').filter((line) => line.includes('[Shutdown]'));
    expect(lines).toEqual([
      expect.stringMatching(/SIGTERM: stopping$/),
      expect.stringMatching(/stopped after \d+\.\d s; requests completed during the stop: 1$/),
    ]);
  });
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

describe('SHUTDOWN_DELAY', () => {
  it('passes with requests served and /readyz at 503', async () => {
    await start({ SHUTDOWN_DELAY: '60s' });
    const client = service.client(1);
    expect(await readiness()).toBe(200);
    service.signal('SIGTERM');
    while ((await readiness()) !== 503);
    for (let id = 0n; id < 5n; id++) {
      const { status, headers } = await client.create({ id, name: 'n' });
      expect({ status, connection: headers.connection }).toEqual({
        status: 200,
        connection: 'keep-alive',
      });
    }
    // A new connection is served too, and a second signal changes nothing.
    service.signal('SIGTERM');
    expect((await service.client(1).create({ id: 5n, name: 'n' })).status).toBe(200);
    expect(await readiness()).toBe(503);
    expect(await service.store.count()).toBe(6);
  });

  it('ends, and the process with it', async () => {
    await start({ SHUTDOWN_DELAY: '1s' });
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
  });
});

describe('SHUTDOWN_TIMEOUT', () => {
  it('cuts off a client that does not read its responses, and the stop succeeds', async () => {
    await start({ SHUTDOWN_TIMEOUT: '2s' });
    const { socket } = await service.connect();
    socket.pause();
    const name = 'n'.repeat(60_000);
    // The service can write until the kernel's buffers, some megabytes, are full.
    for (let id = 0; await isTaken(socket, plant({ id, name })); id++);
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    socket.destroy();
  });

  it('cuts off a client that does not read pages and has sent CONNECT, and the stop succeeds', async () => {
    await start({ SHUTDOWN_TIMEOUT: '2s' });
    const { socket } = await service.connect();
    socket.pause();
    const page = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';
    socket.write(`${page.repeat(8)}CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n`);
    await service.client().create({ id: 0n, name: 'oak' });
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    socket.destroy();
  });

  it('cuts off a client that does not finish its request, and the stop succeeds', async () => {
    await start({ SHUTDOWN_TIMEOUT: '2s' });
    const connection = await service.connect();
    const headers = { ...service.client().headers, 'content-length': '100' };
    connection.write(requestText(headers, '{"id":1'));
    while ((await monitor.lookups()) < 1);
    service.signal('SIGTERM');
    await connection.closed();
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(await service.store.count()).toBe(0);
  });
});

/** Whether the kernel accepts bytes to send within a second. */
function isTaken(socket: Socket, bytes: string): Promise<boolean> {
  return new Promise((resolve) => {
    socket.write(bytes, (error) => resolve(!error));
    setTimeout(resolve, 1_000, false);
  });
}

/** Resolves once the service accepts no new connections. */
async function refused(): Promise<void> {
  for (;;) {
    try {
      (await service.connect()).close();
    } catch {
      return;
    }
  }
}
