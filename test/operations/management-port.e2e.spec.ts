/** @engine sqlite */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { readConfig } from '../../src/config/environment.js';
import { createManagement } from '../../src/management/management.module.js';
import { ServiceState } from '../../src/management/service-state.js';
import { listen } from '../support/local-server.js';
import { Monitor } from '../support/monitor.js';
import { RawConnection } from '../support/raw-connection.js';
import { Service } from '../support/service.js';

/** Health and metrics, of a service that starts. */
async function openManagement() {
  const app = await createManagement(readConfig({}));
  await app.init();
  const server = app.getHttpServer();
  const monitor = new Monitor(await listen(server));
  return { app, monitor, server, state: app.get(ServiceState) };
}

const JSON_TYPE = expect.stringMatching(/^application\/json/);

let service: Service;
let management: Awaited<ReturnType<typeof openManagement>>;
let monitor: Monitor;
beforeAll(async () => {
  service = await Service.start();
  management = await openManagement();
  management.state.attach(service.app);
  ({ monitor } = management);
});
afterAll(() => management.app.close());

describe('the management port', () => {
  it('reports that the process is alive, whatever the state of the store', async () => {
    expect(await monitor.send('GET', '/livez')).toMatchObject({
      status: 200,
      headers: { 'content-type': JSON_TYPE, 'cache-control': expect.stringContaining('no-store') },
      text: '{"status":"ok","info":{},"error":{},"details":{}}',
    });
  });

  it.each(['/livez', '/readyz', '/metrics'])(
    'responds to HEAD %s, without a body',
    async (path) => {
      expect(await monitor.send('HEAD', path)).toMatchObject({ status: 200, text: '' });
    },
  );

  const all = 'GET, HEAD /livez, GET, HEAD /readyz, GET, HEAD /metrics';
  const nowhere = [404, 3000, `no such path: there is ${all}`] as const;
  it.each([
    ['POST', '/livez', 405, 3001, 'method not allowed: only GET, HEAD /livez'],
    ['PATCH', '/metrics', 405, 3001, 'method not allowed: only GET, HEAD /metrics'],
    ['GET', '/', ...nowhere],
    ['GET', '/livez/', ...nowhere],
    ['GET', 'http://a:99999/x', ...nowhere],
    ['POST', '/plants', ...nowhere],
  ] as const)(
    'has nothing else, and says what it has: %s %s',
    async (method, path, status, error, message) => {
      // Node sends the body of a GET without its size, as if it were another request.
      const body = method === 'GET' ? undefined : 'x'.repeat(200_000);
      const response = await monitor.send(method, path, body);
      expect(response).toMatchObject({ status, headers: { 'content-type': JSON_TYPE } });
      expect(JSON.parse(response.text)).toEqual({ error, message });
      expect(response.headers).not.toHaveProperty('x-powered-by');
    },
  );

  it('has an Error body for what is not HTTP', async () => {
    const connection = (await RawConnection.open(monitor.port)).write('garbage\r\n\r\n');
    const response = await connection.read({ method: 'POST', path: '/plants' });
    expect(response).toMatchObject({ status: 400, body: { error: 3002 } });
  });
});

it('a check that throws is 500, and the next request gets its response', async () => {
  @Module({})
  class WithoutPlants {}
  const other = await openManagement();
  other.state.attach(await NestFactory.createApplicationContext(WithoutPlants, { logger: false }));
  expect(await other.monitor.send('GET', '/readyz')).toMatchObject({
    status: 500,
    text: '{"error":5000,"message":"internal error"}',
  });
  expect(await other.monitor.live()).toBe(200);
  await other.app.close();
});

it('responds to one request for each connection, however many are pipelined', async () => {
  const connection = await RawConnection.open(monitor.port);
  connection.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000));
  const response = await connection.read({ method: 'GET', path: '/docs' });
  expect(response).toMatchObject({ status: 200, headers: { connection: 'close' } });
  await connection.closed();
});

it('closes connections past its limit, and slow ones in time', async () => {
  const { app, monitor, server } = await openManagement();
  // The usual limit is ten seconds.
  server.headersTimeout = server.requestTimeout = 500;
  const opening = Array.from({ length: 200 }, () => RawConnection.open(monitor.port));
  const slow = await Promise.all(opening);
  await Promise.race(slow.map((connection) => connection.closed()));
  for (const connection of slow) connection.write('GET /livez HTTP/1.1\r\n');
  await Promise.all(slow.map((connection) => connection.closed()));
  expect(await monitor.live()).toBe(200);
  await app.close();
});

it('while a service stops it is alive, not ready, and its store is not checked', async () => {
  const connection = await service.connect();
  // The service has accepted this connection before the stop.
  connection.write('POST /plants HTTP/1.1\r\n');
  await service.client.create({ id: 1n, name: 'oak' });
  const stopped = service.stop();
  // The store is open still, but may be closed at any moment: a probe could take that for an outage.
  const { details } = await monitor.until(503, 'lifecycle', 'store');
  expect(details).toMatchObject({
    lifecycle: { status: 'down', phase: 'stopping' },
    store: { status: 'down', message: 'not checked: the service stops' },
  });
  connection.close();
  await stopped;
  expect((await monitor.ready()).details.store).toEqual(details.store);
  expect(await monitor.live()).toBe(200);
});
