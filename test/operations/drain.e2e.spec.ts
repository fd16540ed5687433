/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { PRINT_ARRIVALS } from '../support/cli.js';
import { requestText, type RawConnection } from '../support/raw-connection.js';
import { ENDED, ServiceProcess } from '../support/service-process.js';

let service: ServiceProcess;
afterEach(() => service.remove());

const SHUTTING_DOWN = { status: 503, body: { error: 5003, message: 'shutting down' } };
const request = (id: number) => requestText(service.client().headers, `{"id":${id},"name":"oak"}`);
const connect = (count: number) =>
  Promise.all(Array.from({ length: count }, () => service.connect()));

async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
  // Plants that wait for the lock must not time out on a busy machine.
  const own = { ...PRINT_ARRIVALS, DATABASE_TIMEOUT: '60s' };
  service = await ServiceProcess.start({ env: { ...own, ...env } });
}

describe('SIGTERM', () => {
  it('under load: every request gets its response, exit 0', async () => {
    service = await ServiceProcess.start();
    const acknowledged: bigint[] = [];
    const broken: unknown[] = [];
    let next = 0;

    /** Sends one plant after the other until the service has closed the connection. */
    async function load(connection: RawConnection): Promise<void> {
      for (;;) {
        const id = next++;
        connection.write(request(id));
        const response = await connection.read();
        if (response.status === 200) acknowledged.push(BigInt(id));
        else expect(response).toMatchObject(SHUTTING_DOWN);
        if (response.headers.connection === 'close') return connection.closed();
      }
    }
    const loads = (await connect(16)).map((one) =>
      load(one).catch((error: unknown) => broken.push(error)),
    );
    while (acknowledged.length < 200 && broken.length === 0) await sleep(1);
    service.signal('SIGTERM');
    await Promise.all(loads);
    expect(broken).toEqual([]);
    expect(await service.exited).toEqual(ENDED);
    const stored = new Set((await service.store.plants()).map(({ id }) => id));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  });

  it('refuses what is complete only later, before it looks at a token', async () => {
    service = await ServiceProcess.start();
    const connections = await connect(50);
    const [head, end] = [requestText({}).slice(0, -2), '\r\n'];
    await Promise.all(connections.map((connection) => connection.write(request(0)).read()));
    for (const connection of connections) connection.write(head);
    service.signal('SIGTERM');
    let response;
    for (const connection of connections) {
      response = await connection.write(end).read();
      if (response.status !== 401) break;
      await sleep(100);
    }
    expect(response).toMatchObject(SHUTTING_DOWN);
    for (const connection of connections) connection.close();
    expect(await service.exited).toEqual(ENDED);
  });

  it('while the store is locked: waiting plants are stored and acknowledged, pipelined ones in order', async () => {
    await start();
    const [pipelined, ...connections] = await connect(9);
    const unlock = await service.store.lock();
    connections.forEach((connection, i) => connection.write(request(i + 1)));
    pipelined?.write([11, 12].map(request).join(''));
    await service.arrived(connections.length + 2);
    service.signal('SIGTERM');
    // From then on responses end connections.
    await service.refuses();
    await unlock();
    for (const connection of ['keep-alive', 'close'])
      expect(await pipelined?.read()).toMatchObject({ status: 200, headers: { connection } });
    const responses = await Promise.all(connections.map((connection) => connection.read()));
    const stored = new Set((await service.store.plants()).map(({ id }) => id));
    responses.forEach(({ status, body }, i) => {
      if (status === 200) expect(stored).toContain(BigInt(i + 1));
      else expect({ status, body }).toEqual(SHUTTING_DOWN);
    });
    expect(await service.exited).toEqual(ENDED);
  });

  it('while the store is locked for longer than clients have to finish: the plant is acknowledged', async () => {
    await start({ SHUTDOWN_TIMEOUT: '60s' });
    const connection = await service.connect();
    const unlock = await service.store.lock();
    connection.write(request(1));
    await service.arrived(1);
    service.signal('SIGTERM');
    // Others would be cut off a second of draining and 10 s later.
    await sleep(12_500);
    await unlock();
    expect(await connection.read()).toMatchObject({ status: 200 });
    expect(await service.exited).toEqual(ENDED);
  });

  it('while the store stays locked: exit 1 after SHUTDOWN_TIMEOUT, and the log says so', async () => {
    await start({ SHUTDOWN_TIMEOUT: '1s' });
    const connections = await connect(2);
    const unlock = await service.store.lock();
    connections.forEach((connection, id) => connection.write(request(id)));
    await service.arrived(2);
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.output).toMatch(/gave up: the stop has taken longer than SHUTDOWN_TIMEOUT\n/);
    await unlock();
  });
});

it('SIGTERM waits for the commits of clients that have gone', async () => {
  await start();
  const [connection, queued] = [await service.connect(), await service.connect()];
  await connection.write(request(1)).read();
  const unlock = await service.store.lock();
  connection.write(request(2));
  await service.arrived(2);
  queued.write(request(3));
  await service.arrived(3);
  for (const one of [connection, queued]) one.socket.resetAndDestroy();
  service.signal('SIGTERM');
  // By then the server is closed, and the process waits only for the commits.
  await sleep(1_000);
  await unlock();
  expect(await service.exited).toEqual(ENDED);
  expect((await service.store.plants()).map(({ id }) => id)).toEqual([1n, 2n, 3n]);
  // Who had gone got no status.
  expect(service.output.match(/POST \/plants (200|no response)/g)?.sort()).toEqual([
    'POST /plants 200',
    'POST /plants no response',
    'POST /plants no response',
  ]);
});
