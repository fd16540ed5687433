import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Ledger, Scenario } from '../../drill/ledger.js';
import { Load } from '../../drill/load.js';
import { createStore, ENGINE } from '../support/engine.js';
import { ServiceProcess } from '../support/service-process.js';
import type { TemporaryStore } from '../support/temporary-store.js';

const KILLS = 20;
const CLIENTS = 16;

let store: TemporaryStore;
beforeAll(async () => {
  store = await createStore();
});
afterAll(() => store.remove());

it(`every acknowledged plant is stored after ${KILLS} SIGKILLs`, async () => {
  const scenario = new Scenario('SIGKILL');
  const ledger = new Ledger(scenario);
  let token: string | undefined;
  for (let kill = 0; kill < KILLS; kill++) {
    const before = ledger.acknowledged.size;
    const service = await ServiceProcess.start({ store, ...(token && { token }) });
    token = service.token;
    const load = new Load(service.client(CLIENTS), ledger, { clients: CLIENTS, pause: 0 });
    const { counts } = scenario;
    while (ledger.acknowledged.size <= before + CLIENTS && counts.refused + counts.wrong === 0)
      await sleep(1);
    await sleep(Math.random() * 200);
    expect(await service.kill()).toEqual({ code: null, signal: 'SIGKILL' });
    await load.stop();
  }
  if (ENGINE === 'sqlite') {
    expect(await store.rows('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  }
  // Plants stored without a 200 were in flight; they are complete too.
  await ledger.check(store);
  expect(scenario.wrong).toEqual([]);
  expect(scenario.counts).toMatchObject({ refused: 0, wrong: 0 });
  expect(ledger.acknowledged.size).toBeGreaterThan(KILLS * CLIENTS);
});
