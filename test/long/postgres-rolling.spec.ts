/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import type { Client } from '../support/client.js';
import { createStore } from '../support/engine.js';
import { ServiceProcess } from '../support/service-process.js';
import { tally, type Received } from '../support/received.js';
import type { TemporaryStore } from '../support/temporary-store.js';

const RESTARTS = 10;
const CLIENTS = 16;
/** Milliseconds between two readiness checks of a service. */
const INTERVAL_MS = 100;

let store: TemporaryStore;
const services = new Set<ServiceProcess>();
/** Keeps connections to the ready services open, as a reverse proxy does. Nothing is sent again. */
const ready = new Map<ServiceProcess, Client>();
afterEach(async () => {
  for (const service of services) await service.kill();
  await store.remove();
});

/** Starts a service. Resolves once it gets requests. */
async function start(token?: string): Promise<ServiceProcess> {
  // The delay is longer than it takes to notice that a service stops.
  const env = { MANAGEMENT_PORT: '0', SHUTDOWN_DELAY: '1s' };
  const service = await ServiceProcess.start({ store, env, ...(token && { token }) });
  services.add(service);
  const client = service.client(CLIENTS);
  const watch = async (): Promise<void> => {
    const readiness = await service.monitor.ready().catch(() => undefined);
    if (readiness?.status === 200) ready.set(service, client);
    else ready.delete(service);
    if (!service.exit) setTimeout(() => void watch(), INTERVAL_MS);
  };
  await watch();
  while (!ready.has(service)) await sleep(10);
  return service;
}

it(`${RESTARTS} restarts of two services under load: no request to a ready one fails`, async () => {
  store = await createStore();
  const first = await start();
  const { token } = first;
  const running = [first, await start(token)];
  const responses: Received[] = [];
  let rolling = true;
  let next = 0n;

  /** Sends one plant after the other, each once, to the ready services in turn. */
  async function load(): Promise<void> {
    while (rolling) {
      const clients = [...ready.values()];
      const id = next++;
      const client = clients[Number(id) % clients.length];
      if (!client) throw new Error('no service is ready');
      responses.push(await client.create({ id, name: 'n' }));
    }
  }
  const loads = Promise.all(Array.from({ length: CLIENTS }, load));
  for (let restart = 0; restart < RESTARTS; restart++) {
    running.push(await start(token));
    const service = running.shift() ?? first;
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    ready.delete(service);
  }
  rolling = false;
  await loads;
  expect(tally(responses)).toEqual({ '200 {"name":"n"}': responses.length });
  expect(await store.count()).toBe(responses.length);
  expect(responses.length).toBeGreaterThan(RESTARTS * CLIENTS);
});
