import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Monitor } from './support/monitor.js';
import { ServiceProcess } from './support/service-process.js';
import { SqliteStore } from './support/sqlite-store.js';

const AWAY = { status: 503, body: { error: 5001, message: 'the store is unavailable' } };
const OAK = { id: 1n, name: 'oak' };

let store: SqliteStore;
let service: ServiceProcess;
let monitor: Monitor;
beforeEach(async () => {
  store = new SqliteStore();
  service = await ServiceProcess.start({ store, env: { MANAGEMENT_PORT: '0' } });
  monitor = Monitor.of(service);
  expect((await service.client().create(OAK)).status).toBe(200);
});
afterEach(() => service.remove());

/** Neither a new plant nor a repeat is told 200, and the service is not ready; the log has the file's name. */
async function expectAway(file: string): Promise<void> {
  for (const id of [1n, 2n])
    expect(await service.client().create({ ...OAK, id })).toMatchObject(AWAY);
  const reason = `${file} was removed or replaced while the service runs: put it back, or restart the service`;
  const { details } = await monitor.until(503, 'store');
  expect(details.store?.message).toContain(reason);
  expect(service.output).toContain(`the store is unavailable: Error: ${reason}`);
}

describe('while the service runs', () => {
  it('the file is removed: 503 with 5001, not ready; it goes on when the file is moved back', async () => {
    renameSync(store.path, `${store.path}.elsewhere`);
    await expectAway(store.path);
    renameSync(`${store.path}.elsewhere`, store.path);
    await monitor.until(200);
    expect((await service.client().create({ ...OAK, id: 3n })).status).toBe(200);
    expect(await store.plant(3n)).toEqual({ id: 3n, name: 'oak', tag: null });
  });

  it('another file takes its place: 503 with 5001, not ready', async () => {
    // As a restored backup would.
    copyFileSync(store.path, `${store.path}.backup`);
    renameSync(`${store.path}.backup`, store.path);
    await expectAway(store.path);
  });

  it.each([
    ['log', '-wal'],
    ['index of its log', '-shm'],
  ])('its %s is removed: 503 with 5001, not ready', async (_name, suffix) => {
    // Long enough for the folder to count as unchanged.
    await sleep(1_500);
    expect((await service.client().create(OAK)).status).toBe(200);
    rmSync(store.path + suffix);
    await expectAway(store.path + suffix);
  });
});
