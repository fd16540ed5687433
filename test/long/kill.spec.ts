import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Client } from '../support/client.js';
import { createStore, ENGINE } from '../support/engine.js';
import { rounds } from './rounds.js';
import { ServiceProcess } from '../support/service-process.js';
import type { StoredPlant, TemporaryStore } from '../support/temporary-store.js';

const KILLS = rounds(3, 20);
const CLIENTS = 16;

let store: TemporaryStore;
beforeAll(async () => {
  store = await createStore();
});
afterAll(() => store.remove());

it(`every plant answered with 200 is stored after ${KILLS} SIGKILLs`, async () => {
  const sent = new Map<bigint, StoredPlant>();
  const acknowledged = new Set<bigint>();
  const refused: number[] = [];
  let running = true;

  async function load(client: Client): Promise<void> {
    while (running) {
      // An odd factor: no two are the same modulo 2^64.
      const id = BigInt.asIntN(64, BigInt(sent.size) * 2_862_933_555_777_941_757n);
      const plant = { id, name: `n${id} 🌵`, tag: `t${id % 7n}` };
      sent.set(id, plant);
      const { status } = await client.create(plant);
      if (status === 200) acknowledged.add(id);
      else refused.push(status);
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
    while (acknowledged.size <= before + CLIENTS && refused.length === 0)
      await new Promise((resolve) => setTimeout(resolve, 1));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 200));
    running = false;
    expect(await service.kill()).toEqual({ code: null, signal: 'SIGKILL' });
    await ended;
    expect(refused).toEqual([]);
  }

  const stored = new Map((await store.plants()).map((plant) => [plant.id, plant]));
  if (ENGINE === 'sqlite') {
    expect(await store.rows('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  }
  expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([]);
  // Plants stored without a 200 were in flight; they are complete too.
  for (const [id, plant] of stored) expect(plant).toEqual(sent.get(id));
  expect(acknowledged.size).toBeGreaterThan(KILLS * CLIENTS);
});
