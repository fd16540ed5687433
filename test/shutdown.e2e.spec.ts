import { afterEach, describe, expect, it } from '@jest/globals';
import { requestText } from './support/raw-connection.js';
import { ServiceProcess } from './support/service-process.js';

let service: ServiceProcess;
afterEach(() => service.remove());

/** Starts the service with its management listener; the function tells the status of /readyz. */
async function start(env: Record<string, string>): Promise<() => Promise<number>> {
  service = await ServiceProcess.start({ env: { MANAGEMENT_PORT: '0', ...env } });
  const [, url] = /Management: (\S+)/.exec(service.printed) ?? [];
  return async () => (await fetch(`${url}/readyz`)).status;
}

describe('SHUTDOWN_DELAY', () => {
  it('goes by with requests still served, while /readyz is 503', async () => {
    const readiness = await start({ SHUTDOWN_DELAY: '2s' });
    const client = service.client(1);
    expect(await readiness()).toBe(200);
    service.signal('SIGTERM');
    while ((await readiness()) !== 503);
    for (let id = 0n; id < 50n; id++) {
      const { status, headers } = await client.create({ id, name: 'n' });
      expect({ status, connection: headers.connection }).toEqual({
        status: 200,
        connection: 'keep-alive',
      });
    }
    // A new connection is served too, and a second signal changes nothing.
    service.signal('SIGTERM');
    expect((await service.client(1).create({ id: 50n, name: 'n' })).status).toBe(200);
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(await service.store.count()).toBe(51);
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
    await new Promise((resolve) => setTimeout(resolve, 300));
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.output).toContain('not done after 1 s: requests without an answer: 2, ');
    await unlock();
  });

  it('cuts off a client that does not send the rest of its request, and ends in order', async () => {
    await start({ SHUTDOWN_TIMEOUT: '2s' });
    const connection = await service.connect();
    const headers = { ...service.client().headers, 'content-length': '100' };
    connection.write(requestText(headers, '{"id":1'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    service.signal('SIGTERM');
    await connection.closed();
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(await service.store.count()).toBe(0);
  });
});
