/** @engine sqlite */
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { readConfig } from '../../src/config/environment.js';
import { Management, type Lifecycle } from '../../src/management/management.js';
import { Monitor, valueOf } from '../support/monitor.js';
import { RawConnection } from '../support/raw-connection.js';
import { Service } from '../support/service.js';
import { runMain, ServiceProcess } from '../support/service-process.js';

let service: ServiceProcess;
let monitor: Monitor;
beforeAll(async () => {
  service = await ServiceProcess.start({ env: { MANAGEMENT_PORT: '0' } });
  monitor = Monitor.of(service);
});
afterAll(() => service.remove());

describe('the management port', () => {
  it('reports that the process is alive, whatever the state of the store', async () => {
    const { status, headers, text } = await monitor.send('GET', '/livez');
    expect({ status, body: JSON.parse(text) as unknown }).toEqual({
      status: 200,
      body: { status: 'ok', info: {}, error: {}, details: {} },
    });
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(headers['cache-control']).toContain('no-store');
  });

  it.each(['/livez', '/readyz', '/metrics'])(
    'responds to HEAD %s, without a body',
    async (path) => {
      expect(await monitor.send('HEAD', path)).toMatchObject({ status: 200, text: '' });
    },
  );

  it.each([
    ['POST', '/livez'],
    ['PUT', '/readyz'],
    ['PATCH', '/metrics'],
  ])('allows GET only: %s %s is 405, with an Error body', async (method, path) => {
    const { status, headers, text } = await monitor.send(method, path, 'x'.repeat(200_000));
    expect({ status, allow: headers.allow, body: JSON.parse(text) as unknown }).toEqual({
      status: 405,
      allow: 'GET, HEAD',
      body: { error: 3001, message: 'method not allowed' },
    });
  });

  it.each([
    ['GET', '/'],
    ['GET', '/%zz'],
    ['GET', '/docs'],
    ['GET', '/livez/'],
    ['GET', 'http://a:99999/livez'],
    ['POST', '/plants'],
  ])('has nothing else: %s %s is 404, with an Error body', async (method, path) => {
    const { status, headers, text } = await monitor.send(method, path, 'x'.repeat(200_000));
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect({ status, body: JSON.parse(text) as unknown }).toEqual({
      status: 404,
      body: { error: 3000, message: 'no such path: there are /livez, /readyz and /metrics' },
    });
    expect(headers).not.toHaveProperty('x-powered-by');
  });

  it.each(['/livez', '/readyz', '/metrics'])(
    'is separate from the public port: %s is 404 there',
    async (path) => {
      const { status } = await service.client().send({ method: 'GET', path, headers: {} });
      expect(status).toBe(404);
    },
  );
});

it('a service is ready from its start until it stops', async () => {
  const config = readConfig({ MANAGEMENT_PORT: '0', LOG_LEVEL: 'fatal' });
  const lifecycle: Lifecycle = { phase: 'starting' };
  const management = new Management(config, lifecycle);
  await management.listen();
  const { port } = management.server.address() as AddressInfo;
  const other = new Monitor(port);
  expect(await other.ready()).toMatchObject({ status: 503, failed: ['lifecycle', 'store'] });
  expect(valueOf(await other.metrics(), 'plant_store_store_up')).toBe(0);
  const serving = await Service.start();
  lifecycle.app = serving.app;
  expect(await other.ready()).toMatchObject({ status: 503, failed: ['lifecycle'] });
  lifecycle.phase = 'serving';
  expect(await other.ready()).toMatchObject({ status: 200, failed: [] });
  lifecycle.phase = 'stopping';
  const { failed, details } = await other.ready();
  expect({ failed, of: details.lifecycle }).toEqual({
    failed: ['lifecycle'],
    of: { status: 'down', phase: 'stopping' },
  });
  expect(await other.live()).toBe(200);
  const connection = await serving.connect();
  // The service has accepted this connection before the stop.
  connection.write('POST /plants HTTP/1.1\r\n');
  await serving.client.create({ id: 1n, name: 'oak' });
  const stopped = serving.stop();
  // The store is open still, but may be closed at any moment: a probe could take that for an outage.
  const { details: last } = await other.until(503, 'lifecycle', 'store');
  expect(last.store).toEqual({ status: 'down', message: 'not checked: the service stops' });
  connection.close();
  await stopped;
  expect((await other.ready()).details.store).toEqual(last.store);
  management.server.close();
});

it('a check that throws is 500, and the next request gets its response', async () => {
  @Module({})
  class WithoutPlants {}
  const config = readConfig({ MANAGEMENT_PORT: '0' });
  const app = await NestFactory.createApplicationContext(WithoutPlants, { logger: false });
  const management = new Management(config, { phase: 'serving', app });
  await management.listen();
  const other = new Monitor((management.server.address() as AddressInfo).port);
  expect(await other.send('GET', '/readyz')).toMatchObject({
    status: 500,
    text: '{"error":5000,"message":"internal error"}',
  });
  expect(await other.live()).toBe(200);
  management.server.close();
});

it('responds to one request for each connection, however many are pipelined', async () => {
  const connection = await RawConnection.open(monitor.port);
  connection.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000));
  const { status, headers } = await connection.read({ method: 'GET', path: '/docs' });
  expect({ status, connection: headers.connection }).toEqual({ status: 200, connection: 'close' });
  await connection.closed();
});

it(
  'serves the newest connection, and closes slow ones in time',
  async () => {
    const config = readConfig({ MANAGEMENT_PORT: '0', LOG_LEVEL: 'fatal' });
    const management = new Management(config, { phase: 'serving' });
    await management.listen();
    const { server } = management;
    // The usual limit is ten seconds.
    server.headersTimeout = server.requestTimeout = 1_000;
    const { port } = server.address() as AddressInfo;
    const slow = await Promise.all(Array.from({ length: 200 }, () => RawConnection.open(port)));
    expect(await new Monitor(port).live()).toBe(200);
    await Promise.all(slow.slice(0, 72).map((connection) => connection.closed()));
    expect(slow.at(-1)?.socket.destroyed).toBe(false);
    for (const connection of slow) connection.write('GET /livez HTTP/1.1\r\n');
    await Promise.all(slow.map((connection) => connection.closed()));
    server.close();
  },
  // Node's own check for slow connections runs every 30 seconds.
  20_000,
);

describe('MANAGEMENT_PORT', () => {
  it('off: nothing listens, and the log does not mention it', async () => {
    const off = await ServiceProcess.start();
    await off.remove();
    expect(off.printed).not.toContain('Management');
  });

  it('in use by another process: exit 1, and a message that says what to do', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const env = { MANAGEMENT_PORT: `${port}`, LOG_LEVEL: 'info' };
    const { code, stdout, stderr } = await runMain(service.store, env);
    other.close();
    expect(stdout).toMatch(/^plant-store .*\n$/);
    expect(code).toBe(1);
    expect(stderr).toMatch(`error: Port ${port} is in use by another process, `);
    expect(stderr).toMatch(/ set MANAGEMENT_PORT to another port\..*\n$/);
  });

  it('at an address of another machine: exit 1, and the reason', async () => {
    const env = { MANAGEMENT_PORT: '0', MANAGEMENT_HOST: '192.0.2.1', LOG_LEVEL: 'fatal' };
    const { code, stderr } = await runMain(service.store, env);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^error: MANAGEMENT_HOST must be .*, not 192\.0\.2\.1\.\n$/),
    });
  });
});
