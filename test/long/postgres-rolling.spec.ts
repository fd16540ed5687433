/** @engine postgres */
import { once } from 'node:events';
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { Client } from '../support/client.js';
import { createStore } from '../support/engine.js';
import { Monitor } from '../support/monitor.js';
import { rounds } from './rounds.js';
import { ServiceProcess } from '../support/service-process.js';
import { tally, type Received } from '../support/received.js';
import type { TemporaryStore } from '../support/temporary-store.js';

const RESTARTS = rounds(3, 20);
const CLIENTS = 16;

/** A service behind the proxy: its port, and a monitor of its management port. */
interface Backend {
  readonly port: number;
  readonly monitor: Monitor;
}

/** Milliseconds between two readiness checks of a backend. */
const INTERVAL = 100;

/**
 * A reverse proxy. It sends requests to the ready backends over keep-alive connections and retries
 * nothing. It responds with 502 if a backend breaks the connection.
 */
class ReverseProxy {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly backends = new Set<Backend>();
  private readonly ready = new Set<Backend>();
  private turn = 0;

  private constructor(private readonly server: Server) {
    server.on('request', (incoming, outgoing) => {
      const ready = [...this.ready];
      const backend = ready[this.turn++ % ready.length];
      if (!backend) return void outgoing.writeHead(502).end('no backend is ready');
      const { method, url: path, headers } = incoming;
      const { port } = backend;
      const options = { agent: this.agent, host: '127.0.0.1', port, method, path, headers };
      const passed = request(options, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      passed.on('error', ({ message }) => outgoing.writeHead(502).end(message));
      incoming.pipe(passed);
    });
  }

  static async start(): Promise<ReverseProxy> {
    const proxy = new ReverseProxy(createServer());
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Adds a backend. Resolves once it is ready for the first time. */
  async add(backend: Backend): Promise<void> {
    this.backends.add(backend);
    await this.look(backend);
    while (!this.ready.has(backend)) await sleep(10);
  }

  /** Removes a backend. */
  remove(backend: Backend): void {
    this.backends.delete(backend);
    this.ready.delete(backend);
  }

  stop(): void {
    this.backends.clear();
    this.agent.destroy();
    this.server.close();
    this.server.closeAllConnections();
  }

  private async look(backend: Backend): Promise<void> {
    const isReady = await backend.monitor.ready().then(
      ({ status }) => status === 200,
      () => false,
    );
    if (!this.backends.has(backend)) return;
    if (isReady) this.ready.add(backend);
    else this.ready.delete(backend);
    setTimeout(() => void this.look(backend), INTERVAL);
  }
}

let store: TemporaryStore;
let proxy: ReverseProxy;
const services = new Set<ServiceProcess>();
afterEach(async () => {
  proxy.stop();
  for (const service of services) await service.kill();
  await store.remove();
});

type Running = readonly [ServiceProcess, Backend];

/** Starts a service behind the proxy. Resolves once it gets requests. */
async function start(token?: string): Promise<Running> {
  // The delay is longer than the proxy takes to notice that a service stops.
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
