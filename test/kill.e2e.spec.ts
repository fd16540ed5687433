import { afterAll, expect, it } from '@jest/globals';
import type { Client } from './support/client.js';
import { ServiceProcess } from './support/service-process.js';
import { TemporaryStore, type StoredPlant } from './support/temporary-store.js';

const KILLS = 20;
const CLIENTS = 16;

const store = new TemporaryStore();
afterAll(() => store.remove());

it('every plant that was told 200 is there after SIGKILL, many times over', async () => {
  const sent = new Map<bigint, StoredPlant>();
  const acknowledged = new Set<bigint>();
  let running = true;

  async function load(client: Client): Promise<void> {
    while (running) {
      const id = BigInt(sent.size) * 2_862_933_555_777_941n;
      const plant = { id, name: `n${id} 🌵`, tag: `t${id % 7n}` };
      sent.set(id, plant);
      const { status } = await client.create(plant);
      expect(status).toBe(200);
      acknowledged.add(id);
    }
  }

  let token: string | undefined;
  for (let kill = 0; kill < KILLS; kill++) {
    const before = acknowledged.size;
    const service = await ServiceProcess.start({ store, ...(token && { token }) });
    token = service.token;
    running = true;
    const client = service.client(CLIENTS);
    const loads = Array.from({ length: CLIENTS }, () => load(client));
    const ended = Promise.allSettled(loads);
    while (acknowledged.size === before) await new Promise((resolve) => setTimeout(resolve, 1));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 200));
    running = false;
    expect(await service.kill()).toEqual({ code: null, signal: 'SIGKILL' });
    await ended;
  }

  const stored = new Map(store.plants().map((plant) => [plant.id, plant]));
  expect(store.rows('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([]);
  // What is stored without a 200 was on its way; it is whole all the same.
  for (const [id, plant] of stored) expect(plant).toEqual(sent.get(id));
  expect(acknowledged.size).toBeGreaterThan(KILLS * CLIENTS);
});
