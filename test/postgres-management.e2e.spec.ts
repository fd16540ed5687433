import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client as Postgres } from 'pg';
import { QUEUE_BOUND } from '../src/plants/plant-queue.js';
import { valueOf } from './support/exposition.js';
import { Monitor } from './support/monitor.js';
import { PostgresServer } from './support/postgres-server.js';
import { PostgresStore } from './support/postgres-store.js';
import { ServiceProcess, spawnMain } from './support/service-process.js';

let server: PostgresServer;
let store: PostgresStore;
beforeAll(async () => {
  server = await PostgresServer.start();
  store = await PostgresStore.create(server.url());
});
afterAll(async () => {
  await store.remove();
  await server.remove();
});

let next = 1n;
const plant = () => ({ id: next++, name: 'oak' });

it('a start that waits for its store lives, and is not ready until the store is there', async () => {
  await server.kill();
  const child = spawnMain(store, { MANAGEMENT_PORT: '0' });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  while (!printed.includes('next try')) await sleep(10);
  const monitor = Monitor.of({ printed });
  expect(await monitor.live()).toBe(200);
  expect(await monitor.ready()).toMatchObject({
    status: 503,
    failed: ['lifecycle', 'store'],
    details: { lifecycle: { phase: 'starting' }, store: { message: 'not open yet' } },
  });
  expect(valueOf(await monitor.metrics(), 'plant_store_store_up')).toBe(0);
  await server.start();
  await monitor.until(200);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

describe('a service whose PostgreSQL', () => {
  let service: ServiceProcess;
  let monitor: Monitor;
  beforeAll(async () => {
    const env = { MANAGEMENT_PORT: '0', NODE_ENV: 'development' };
    // The start before this one has made the token.
    await store.execute('DELETE FROM tokens');
    service = await ServiceProcess.start({ store, env });
    monitor = Monitor.of(service);
  });
  afterAll(() => service.kill());

  async function operate(...statements: string[]): Promise<void> {
    const client = new Postgres({ connectionString: server.url() });
    await client.connect();
    for (const sql of statements) await client.query(sql);
    await client.end();
  }

  it('is killed: not ready without a request, ready again when it is back', async () => {
    await monitor.until(200);
    await server.kill();
    await monitor.until(503, 'store');
    expect(await monitor.live()).toBe(200);
    expect(valueOf(await monitor.metrics(), 'plant_store_store_up')).toBe(0);
    await server.start();
    await monitor.until(200);
    expect((await service.client().create(plant())).status).toBe(200);
  });

  it('is killed: not ready at once where a request finds it so', async () => {
    await monitor.until(200);
    await server.kill();
    expect((await service.client().create(plant())).status).toBe(503);
    expect(await monitor.ready()).toMatchObject({ status: 503, failed: ['store'] });
    await server.start();
    await monitor.until(200);
  });

  it('stands still: not ready, and those who ask are answered all the same', async () => {
    await monitor.until(200);
    server.pause();
    const { details } = await monitor.until(503, 'store');
    expect(details.store).toEqual({ status: 'down', message: 'the store took too long' });
    expect(await monitor.live()).toBe(200);
    server.resume();
    await monitor.until(200);
  });

  it.each([
    ['is read-only', "default_transaction_read_only = 'on'", /read-only/],
    [
      'waits for a standby that is not there',
      "synchronous_standby_names = 'nobody'",
      /too long|timeout/,
    ],
  ])('%s: not ready', async (_name, setting, reason) => {
    await monitor.until(200);
    await operate(`ALTER SYSTEM SET ${setting}`, 'SELECT pg_reload_conf()');
    const { details } = await monitor.until(503, 'store');
    expect(details.store?.message).toMatch(reason);
    const [name] = setting.split(' ');
    await operate(
      'SET default_transaction_read_only = off',
      `ALTER SYSTEM RESET ${name}`,
      'SELECT pg_reload_conf()',
    );
    await monitor.until(200);
  });
});

describe('several workers', () => {
  const WORKERS = 2;
  let service: ServiceProcess;
  let monitor: Monitor;
  let pids: number[];
  beforeAll(async () => {
    await store.execute('DELETE FROM tokens');
    const env = { MANAGEMENT_PORT: '0', WORKERS: `${WORKERS}`, LOG_LEVEL: 'debug' };
    service = await ServiceProcess.start({ store, env });
    monitor = Monitor.of(service);
    await allReady();
    pids = [...service.output.matchAll(/worker (\d+) listens/g)].map(([, pid]) => Number(pid));
  });
  afterAll(() => service.kill());

  async function allReady() {
    for (;;) {
      const { status, details } = await monitor.ready();
      if (status === 200 && details.workers?.ready === WORKERS) return details.workers;
      await sleep(20);
    }
  }

  /** Stores so many plants, over connections of their own. */
  async function create(count: number): Promise<void> {
    const client = service.client(count);
    await Promise.all(
      Array.from({ length: count }, async () => {
        expect((await client.create(plant())).status).toBe(200);
      }),
    );
    client.close();
  }

  const stored = async () => valueOf(await monitor.metrics(), 'plant_store_plants_stored_total');

  it('are looked at through their primary process', async () => {
    expect(await allReady()).toEqual({ status: 'up', ready: WORKERS, count: WORKERS, failed: [] });
    expect(await monitor.live()).toBe(200);
    await create(20);
    const metrics = await monitor.metrics();
    const values = ['plants_stored_total', 'queue_bound_plants', 'store_up', 'workers'];
    expect(values.map((name) => valueOf(metrics, `plant_store_${name}`))).toEqual([
      20,
      WORKERS * QUEUE_BOUND,
      1,
      WORKERS,
    ]);
    const build = [...(metrics.get('plant_store_build_info')?.samples.values() ?? [])];
    expect(build).toEqual([1]);
    const start = valueOf(metrics, 'process_start_time_seconds');
    expect(Math.abs(start - Date.now() / 1_000)).toBeLessThan(240);
  });

  it('are counted on when one stands still, which is not ready', async () => {
    const before = await stored();
    const [first = 0] = pids;
    process.kill(first, 'SIGSTOP');
    const { details } = await monitor.ready();
    expect(details.workers).toMatchObject({ status: 'up', ready: 1, failed: ['answer'] });
    const metrics = await monitor.metrics();
    expect(valueOf(metrics, 'plant_store_plants_stored_total')).toBe(before);
    expect(valueOf(metrics, 'plant_store_workers')).toBe(1);
    process.kill(first, 'SIGCONT');
    await allReady();
    expect(await stored()).toBe(before);
  });

  it('are counted on when one is killed, while it is asked, too', async () => {
    await create(20);
    const before = await stored();
    const scrapes = Array.from({ length: 20 }, async (_, i) => {
      await sleep(i);
      return stored();
    });
    await sleep(5);
    process.kill(pids[1] ?? 0, 'SIGKILL');
    expect(new Set(await Promise.all(scrapes))).toEqual(new Set([before]));
    await allReady();
    expect(await stored()).toBe(before);
    await create(20);
    const metrics = await monitor.metrics();
    expect(valueOf(metrics, 'plant_store_plants_stored_total')).toBe(before + 20);
    expect(valueOf(metrics, 'plant_store_worker_ends_total')).toBe(1);
  });

  it('are not ready while none of them can write', async () => {
    await server.kill();
    const { details } = await monitor.until(503, 'workers');
    expect(details.workers).toMatchObject({ ready: 0, count: WORKERS, failed: ['store'] });
    await server.start();
    await allReady();
  });
});
