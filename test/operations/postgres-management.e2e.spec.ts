/** @engine postgres */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Monitor, valueOf } from '../support/monitor.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresStore } from '../support/postgres-store.js';
import { ServiceProcess, spawnMain } from '../support/service-process.js';

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

it('a start that waits for its store is alive, but not ready until the store is up', async () => {
  await server.kill();
  const child = spawnMain(store, { MANAGEMENT_PORT: '0' });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  while (!printed.includes('Retrying (1)')) await sleep(10);
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
    // An outage ends after half this time without a failure.
    const env = { MANAGEMENT_PORT: '0', NODE_ENV: 'development', DATABASE_TIMEOUT: '2s' };
    // The previous start has created the token.
    await store.execute('DELETE FROM tokens');
    service = await ServiceProcess.start({ store, env });
    monitor = Monitor.of(service);
  });
  afterAll(() => service.kill());

  const alter = (change: string) => async () => {
    await store.execute('SET default_transaction_read_only = off');
    await store.execute(`ALTER SYSTEM ${change}`);
    await store.reload();
  };
  const STANDBY = 'synchronous_standby_names';
  const READ_ONLY = 'default_transaction_read_only';

  it.each<[string, () => unknown, RegExp, () => unknown]>([
    ['is killed', () => server.kill(), /./, () => server.start()],
    ['freezes', () => server.pause(), /^the store took too long$/, () => server.resume()],
    ['is read-only', alter(`SET ${READ_ONLY} = on`), /read-only/, alter(`RESET ${READ_ONLY}`)],
    [
      'waits for no standby',
      alter(`SET ${STANDBY} = 'nobody'`),
      /too long|timeout/,
      alter(`RESET ${STANDBY}`),
    ],
  ])(
    '%s: alive, but not ready, even without requests, until it is back',
    async (_name, begin, reason, end) => {
      await monitor.until(200);
      await begin();
      const { details } = await monitor.until(503, 'store');
      expect(details.store).toEqual({ status: 'down', message: expect.stringMatching(reason) });
      expect(await monitor.live()).toBe(200);
      expect(valueOf(await monitor.metrics(), 'plant_store_store_up')).toBe(0);
      await end();
      await monitor.until(200);
      expect((await service.client().create(plant())).status).toBe(200);
    },
  );

  it('fails for some plants: one outage, not ready until it is over, two lines', async () => {
    await monitor.until(200);
    await store.execute(`
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'a worker is down' USING ERRCODE = '08006'; END $$;
      CREATE TRIGGER fail BEFORE INSERT ON plants FOR EACH ROW WHEN (NEW.name = 'elm')
        EXECUTE FUNCTION fail()`);
    const lines = (what: string) => service.output.split(`the store is ${what}`).length;
    const before = [lines('unavailable'), lines('available again')];
    const client = service.client();
    for (let i = 0; i < 40; i++) {
      expect((await client.create({ ...plant(), name: 'elm' })).status).toBe(503);
      expect((await client.create(plant())).status).toBe(200);
      expect(await monitor.ready()).toMatchObject({ status: 503, failed: ['store'] });
    }
    await store.execute('DROP TRIGGER fail ON plants');
    await monitor.until(200);
    const after = [lines('unavailable'), lines('available again')];
    expect(after).toEqual(before.map((count) => count + 1));
  });
});
