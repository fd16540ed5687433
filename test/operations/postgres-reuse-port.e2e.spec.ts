/** @engine postgres */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createStore } from '../support/engine.js';
import { requestText, type RawConnection } from '../support/raw-connection.js';
import { runMain, ServiceProcess, spawnMain } from '../support/service-process.js';
import type { TemporaryStore } from '../support/temporary-store.js';

let store: TemporaryStore;
beforeEach(async () => {
  store = await createStore();
});
afterEach(() => store.remove());

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

let next = 1;
/** The bytes of a request with its own plant. */
function request({ token }: ServiceProcess): string {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return requestText(headers, `{"id":${next++},"name":"oak"}`);
}

describe('two processes with REUSE_PORT=on', () => {
  let one: ServiceProcess;
  let other: ServiceProcess;
  beforeEach(async () => {
    const env = { PORT: `${await freePort()}`, REUSE_PORT: 'on' };
    one = await ServiceProcess.start({ store, env });
    other = await ServiceProcess.start({ store, env, token: one.token });
  });
  afterEach(() => Promise.all([one.kill(), other.kill()]));

  /** Connections with a response each, so a process has accepted them. */
  async function connections(count: number): Promise<RawConnection[]> {
    const all = await Promise.all(Array.from({ length: count }, () => one.connect()));
    for (const each of all) expect((await each.write(request(one)).read()).status).toBe(200);
    return all;
  }

  it('share the connections of a port; when one is killed, the other keeps serving', async () => {
    // The kernel chooses at random: all on one process has a chance of 2^-63.
    const before = await connections(64);
    process.kill(one.pid, 'SIGKILL');
    await one.exited;
    const statuses = await Promise.all(
      before.map((each) =>
        each
          .write(request(one))
          .read()
          .then(({ status }) => status)
          .catch(() => undefined),
      ),
    );
    expect(new Set(statuses)).toEqual(new Set([200, undefined]));
    for (const each of [...before, ...(await connections(64))]) each.close();
  });

  it('stop one by one under load, and respond to every accepted request', async () => {
    let acknowledged = 0;
    /** Sends one plant after the other until the service has closed the connection. */
    async function load(connection: RawConnection): Promise<void> {
      for (;;) {
        const { status, body, headers } = await connection.write(request(one)).read();
        if (status === 200) acknowledged += 1;
        else expect(body).toEqual({ error: 5003, message: 'shutting down' });
        if (headers.connection === 'close') return connection.closed();
      }
    }
    const loads = (await connections(16)).map(load);
    other.signal('SIGTERM');
    expect(await other.exited).toEqual({ code: 0, signal: null });
    one.signal('SIGTERM');
    expect(await one.exited).toEqual({ code: 0, signal: null });
    await Promise.all(loads);
    expect(await store.count()).toBeGreaterThanOrEqual(acknowledged);
  });
});

it('a process without REUSE_PORT does not share a port', async () => {
  const env = { PORT: `${await freePort()}`, REUSE_PORT: 'on' };
  const first = await ServiceProcess.start({ store, env });
  const { code, stderr } = await runMain(store, { ...env, REUSE_PORT: 'off', LOG_LEVEL: 'fatal' });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(`^error: Port ${env.PORT} is in use by another process, .*PORT`),
  });
  await first.kill();
});

it('a start ends at once while its store is unavailable', async () => {
  const service = spawnMain(store, { DATABASE_URL: 'postgres://127.0.0.1:1/none' });
  await once(service.stdout, 'data');
  service.kill('SIGTERM');
  // It would retry forever.
  expect(await once(service, 'close')).toEqual([0, null]);
});
