/** @engine postgres */
import { once } from 'node:events';
import { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { ClientConfig } from 'pg';
import { CheckedClient } from './client.js';
import { cancelStatement, DriverClient, DriverPool, isConnectionLost } from './driver.js';

const connectionString = process.env.TEST_DATABASE_URL ?? '';

let client: InstanceType<typeof DriverClient> & { connect(): Promise<unknown> };
beforeEach(async () => {
  client = connect({ connectionString });
  await client.connect();
});
afterEach(() => void client.end());

/** A client as the pool makes it, and connects it. */
function connect(config: ClientConfig): typeof client {
  return new DriverClient(config) as typeof client;
}

it('a client has the key of its session, its address and its socket', async () => {
  const { rows } = (await client.query('SELECT pg_backend_pid() AS pid')) as { rows: unknown[] };
  expect(rows).toEqual([{ pid: client.processID }]);
  expect(client.secretKey).toEqual(expect.any(Number));
  expect(client.ssl).toBe(false);
  expect(client.connection.stream).toBeInstanceOf(Socket);
  expect(client.connection.stream.remotePort).toBe(Number(new URL(connectionString).port));
});

it('a client passes its TLS to tls.connect(), and keeps the key from the log', () => {
  const { ssl } = connect({ ssl: { ca: 'ca', key: 'key' } });
  expect(ssl).toMatchObject({ ca: 'ca', key: 'key' });
  expect(Object.keys(ssl)).not.toContain('key');
});

it('a client destroys the connection of a statement in flight: CheckedClient must wait itself', async () => {
  const query = client.query('SELECT pg_sleep(60)') as Promise<unknown>;
  const failure = query.catch((error: unknown) => error);
  void client.end();
  expect(client.connection.stream.destroyed).toBe(true);
  expect(isConnectionLost(await failure)).toBe(true);
});

it('a statement is cancelled by the request that the connection of the driver writes', async () => {
  const query = client.query('SELECT pg_sleep(60)') as Promise<unknown>;
  const failed = expect(query).rejects.toMatchObject({ code: '57014' });
  await cancelStatement(client);
  await failed;
});

it('a request to cancel fails if nobody takes it', async () => {
  const lost = Object.assign(connect({ host: '/nowhere', port: 1 }), {
    processID: 1,
    secretKey: 1,
  });
  await expect(cancelStatement(lost)).rejects.toMatchObject({ code: 'ENOENT' });
});

it('errors of a lost connection have no code, and the known texts', async () => {
  const pool = new DriverPool({
    connectionString,
    max: 1,
    connectionTimeoutMillis: 100,
    Client: CheckedClient,
  });
  const lend = () =>
    new Promise<unknown>((resolve) =>
      pool.connect((error, lent) => {
        resolve(error ?? lent);
      }),
    );
  const lent = (await lend()) as CheckedClient & { release(error: boolean): void };
  expect(isConnectionLost(await lend())).toBe(true);
  const removed = once(pool, 'remove');
  lent.release(true);
  // The pool's events by which the sessions are counted.
  expect(await removed).toEqual([lent]);
});
