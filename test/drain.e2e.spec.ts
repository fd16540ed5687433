import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { requestText, type RawConnection } from './support/raw-connection.js';
import { ServiceProcess } from './support/service-process.js';

let service: ServiceProcess;
beforeEach(async () => {
  service = await ServiceProcess.start();
});
afterEach(() => service.remove());

const SHUTTING_DOWN = { status: 503, body: { error: 5003, message: 'shutting down' } };
const request = (id: number) => requestText(service.client().headers, `{"id":${id},"name":"oak"}`);

describe('a signal to end', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    '%s under load: all is answered, exit 0',
    async (signal) => {
      const acknowledged: bigint[] = [];
      const broken: unknown[] = [];
      let next = 0;

      /** Sends one plant after the other until the service has closed the connection. */
      async function load(connection: RawConnection): Promise<void> {
        for (;;) {
          const id = next++;
          connection.write(request(id));
          const answer = await connection.read();
          if (answer.status === 200) acknowledged.push(BigInt(id));
          else expect(answer).toMatchObject(SHUTTING_DOWN);
          if (answer.headers.connection === 'close') return connection.closed();
        }
      }
      const connections = await Promise.all(Array.from({ length: 16 }, () => service.connect()));
      const loads = connections.map((one) =>
        load(one).catch((error: unknown) => broken.push(error)),
      );
      while (acknowledged.length < 200 && broken.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      service.signal(signal);
      await Promise.all(loads);
      expect(broken).toEqual([]);
      expect(await service.exited).toEqual({ code: 0, signal: null });
      const stored = new Set((await service.store.plants()).map(({ id }) => id));
      expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    },
  );

  it('SIGTERM while the store is locked: what waits for its commit is answered and stored', async () => {
    const connections = await Promise.all(Array.from({ length: 8 }, () => service.connect()));
    // With an answer on it, a connection is the service's and not the kernel's alone.
    await Promise.all(connections.map((connection) => connection.write(request(0)).read()));
    const unlock = await service.store.lock();
    connections.forEach((connection, i) => connection.write(request(i + 1)));
    await new Promise((resolve) => setTimeout(resolve, 100));
    service.signal('SIGTERM');
    await unlock();
    const answers = await Promise.all(connections.map((connection) => connection.read()));
    const stored = new Set((await service.store.plants()).map(({ id }) => id));
    answers.forEach(({ status, body }, i) => {
      if (status === 200) expect(stored).toContain(BigInt(i + 1));
      else expect({ status, body }).toEqual(SHUTTING_DOWN);
    });
    expect(await service.exited).toEqual({ code: 0, signal: null });
  });

  it('SIGTERM: takes no new connections and lets the last request come to its end', async () => {
    const connection = await service.connect();
    const text = request(1);
    connection.write(text.slice(0, -5));
    // The service has this connection before it has the signal.
    await service.client().create({ id: 0n, name: 'oak' });
    service.signal('SIGTERM');
    await refused();
    connection.write(text.slice(-5));
    const { status, headers } = await connection.read();
    expect({ status, connection: headers.connection }).toEqual({
      status: 200,
      connection: 'close',
    });
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(await service.store.count()).toBe(2);
  });

  it('SIGTERM: is not held up for ever by clients that never come to an end', async () => {
    const starts = {
      body: request(1).slice(0, -5),
      head: 'POST /plants HTTP/1.1\r\nhost:',
      no: '',
    };
    const connections = await Promise.all(
      Object.values(starts).map(async (bytes) => (await service.connect()).write(bytes)),
    );
    await service.client().create({ id: 0n, name: 'oak' });
    service.signal('SIGTERM');
    const patience = new Promise((resolve) => {
      setTimeout(resolve, 20_000, 'held up').unref();
    });
    expect(await Promise.race([service.exited, patience])).toEqual({ code: 0, signal: null });
    for (const connection of connections) connection.close();
  });
});

/** Resolves once the service takes no new connections. */
async function refused(): Promise<void> {
  for (;;) {
    try {
      (await service.connect()).close();
    } catch {
      return;
    }
  }
}
