/** @engine postgres */
import { afterEach, expect, it } from '@jest/globals';
import { Client } from '../support/client.js';
import { createStore } from '../support/engine.js';
import { Monitor } from '../support/monitor.js';
import { ReverseProxy, type Backend } from '../support/reverse-proxy.js';
import { rounds } from '../support/rounds.js';
import { ServiceProcess } from '../support/service-process.js';
import { tally } from '../support/tally.js';
import type { Received } from '../support/received.js';
import type { TemporaryStore } from '../support/temporary-store.js';

const RESTARTS = rounds(3, 20);
const CLIENTS = 16;

let store: TemporaryStore;
let proxy: ReverseProxy;
const services = new Set<ServiceProcess>();
afterEach(async () => {
  proxy.stop();
  for (const service of services) await service.kill();
  await store.remove();
});

type Running = readonly [ServiceProcess, Backend];

/** Starts a service behind the proxy; resolves once it is sent requests. */
async function start(token?: string): Promise<Running> {
  // The delay is longer than the proxy takes to learn that a service stops.
  const env = { MANAGEMENT_PORT: '0', SHUTDOWN_DELAY: '1s' };
  const service = await ServiceProcess.start({ store, env, ...(token && { token }) });
  services.add(service);
  const backend = { port: service.port, monitor: Monitor.of(service) };
  await proxy.add(backend);
  return [service, backend];
}

it(`${RESTARTS} restarts of two services behind a proxy under load: no request fails`, async () => {
  store = await createStore();
  proxy = await ReverseProxy.start();
  const first = await start();
  const { token } = first[0];
  const running: Running[] = [first, await start(token)];
  const answers: Received[] = [];
  let rolling = true;
  let next = 0n;
  const client = new Client(proxy.port, token, CLIENTS);

  /** Sends one plant after the other, each once. */
  async function load(): Promise<void> {
    while (rolling) answers.push(await client.create({ id: next++, name: 'n' }));
  }
  const loads = Array.from({ length: CLIENTS }, load);
  for (let restart = 0; restart < RESTARTS; restart++) {
    running.push(await start(token));
    const [service, backend] = running.shift() ?? first;
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    proxy.remove(backend);
  }
  rolling = false;
  await Promise.all(loads);
  client.close();
  expect(tally(answers)).toEqual({ '200 {"name":"n"}': answers.length });
  expect(await store.count()).toBe(answers.length);
  expect(answers.length).toBeGreaterThan(RESTARTS * CLIENTS);
});
