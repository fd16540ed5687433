import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client as Postgres } from 'pg';
import { Monitor } from './support/monitor.js';
import { PostgresServer } from './support/postgres-server.js';
import { PostgresStore } from './support/postgres-store.js';
import { ServiceProcess } from './support/service-process.js';

const UNAVAILABLE = { status: 503, body: { error: 5001, message: 'the store is unavailable' } };
const RELOAD = 'SELECT pg_reload_conf()';
const WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'";

let server: PostgresServer;
let store: PostgresStore;
let service: ServiceProcess;
let operator: Postgres;
beforeAll(async () => {
  // Nothing but a commit syncs the log for so long: what did not wait for it is lost with the server.
  server = await PostgresServer.start(['wal_writer_delay=10s']);
  store = await PostgresStore.create(server.url());
  service = await ServiceProcess.start({ store, env: { MANAGEMENT_PORT: '0' } });
  operator = new Postgres({ connectionString: store.url });
  operator.on('error', () => undefined);
  await operator.connect();
});
afterAll(async () => {
  await operator.end().catch(() => undefined);
  await service.remove();
  await server.remove();
});

/** Sets synchronous_commit for all as an operator does; null takes the setting back. */
async function setLevel(level: string | null): Promise<void> {
  const set = level === null ? 'RESET synchronous_commit' : `SET synchronous_commit = ${level}`;
  for (const sql of [`ALTER SYSTEM ${set}`, RELOAD]) await operator.query(sql);
  // Each connection of the server learns it by a signal of its own.
  await sleep(300);
}

describe('a server whose synchronous_commit is lowered while the service runs', () => {
  it.each(['off', 'local', 'remote_write'])('to %s: 503, not ready, and a line', async (level) => {
    const client = service.client();
    const known = { id: 1n, name: 'oak' };
    const fresh = { id: BigInt(level.length), name: level };
    expect((await client.create(known)).status).toBe(200);
    await setLevel(level);
    for (const plant of [known, fresh])
      expect(await client.create(plant)).toMatchObject(UNAVAILABLE);
    const monitor = Monitor.of(service);
    const { details } = await monitor.until(503, 'store');
    const reason = `synchronous_commit is ${level}, so that a plant could be lost`;
    expect(details.store?.message).toContain(reason);
    expect(service.output.split(`the store is unavailable: ${reason}`)).toHaveLength(2);
    await setLevel(null);
    await monitor.until(200);
    for (const plant of [known, fresh]) expect((await client.create(plant)).status).toBe(200);
  });

  it('for the role alone, which counts from the login on: the same', async () => {
    const client = service.client();
    const plant = { id: 50n, name: 'oak' };
    const relogin =
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity ' +
      "WHERE application_name = 'plant-store'";
    await operator.query('ALTER ROLE postgres SET synchronous_commit = off');
    await operator.query(relogin);
    await sleep(300);
    for (let i = 0; i < 3; i++) expect(await client.create(plant)).toMatchObject(UNAVAILABLE);
    await operator.query('ALTER ROLE postgres RESET synchronous_commit');
    await Monitor.of(service).until(200);
    expect((await client.create(plant)).status).toBe(200);
  });

  it('while a plant waits in its statement: a 200 is not lost when the server is killed', async () => {
    const plant = { id: 100n, name: 'oak' };
    // Another one under the same id, whose fate the statement waits for.
    for (const sql of ['BEGIN', "INSERT INTO plants (id, name) VALUES (100, 'elm')"])
      await operator.query(sql);
    const answer = service.client().create(plant);
    while ((await store.rows(WAITING)).length === 0) await sleep(20);
    await store.execute('ALTER SYSTEM SET synchronous_commit = off');
    await store.execute(RELOAD);
    await sleep(300);
    await operator.query('ROLLBACK');
    const { status } = await answer;
    await server.kill();
    await server.start();
    expect(status).toBe(200);
    expect(await store.plant(plant.id)).toMatchObject(plant);
  });
});
