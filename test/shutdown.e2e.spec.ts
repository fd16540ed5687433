import { afterEach, describe, expect, it } from '@jest/globals';
import { Monitor } from './support/monitor.js';
import { requestText } from './support/raw-connection.js';
import { ServiceProcess } from './support/service-process.js';

let service: ServiceProcess;
afterEach(() => service.remove());

let monitor: Monitor;

/** Starts the service with its management listener. */
async function start(env: Record<string, string>): Promise<void> {
  service = await ServiceProcess.start({ env: { MANAGEMENT_PORT: '0', ...env } });
  monitor = Monitor.of(service);
}

const readiness = async () => (await monitor.ready()).status;

/** Looks for tokens by now: one for each request that has come in with one. */
async function lookups(): Promise<number> {
  const counts = (await monitor.metrics()).get('plant_store_token_cache_lookups_total')?.samples;
  return [...(counts?.values() ?? [])].reduce((sum, count) => sum + count, 0);
}

describe('SHUTDOWN_DELAY', () => {
  it('goes by with requests still served, while /readyz is 503', async () => {
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

  it('comes to an end, and the process with it', async () => {
    await start({ SHUTDOWN_DELAY: '1s' });
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
  });
});

describe('SHUTDOWN_TIMEOUT', () => {
  it('ends the process with 1, and the log says what is left undone', async () => {
    await start({ SHUTDOWN_TIMEOUT: '1s', DATABASE_TIMEOUT: '60s' });
    const connections = [await service.connect(), await service.connect()];
    const unlock = await service.store.lock();
    connections.forEach((connection, id) => {
      connection.write(requestText(service.client().headers, `{"id":${id},"name":"n"}`));
    });
    while ((await lookups()) < 2);
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.output).toContain(
      'not done after 1 s: requests without an answer: 2, plants without the end of their commit: 2',
    );
    await unlock();
  });

  it('cuts off a client that does not send the rest of its request, and ends in order', async () => {
    await start({ SHUTDOWN_TIMEOUT: '2s' });
    const connection = await service.connect();
    const headers = { ...service.client().headers, 'content-length': '100' };
    connection.write(requestText(headers, '{"id":1'));
    while ((await lookups()) < 1);
    service.signal('SIGTERM');
    await connection.closed();
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(await service.store.count()).toBe(0);
  });
});
