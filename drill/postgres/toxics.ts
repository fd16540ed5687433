import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../../test/support/client.js';
import { freePort } from '../../test/support/postgres-programs.js';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import type { TemporaryStore } from '../../test/support/temporary-store.js';
import { Scenario } from '../ledger.js';
import { quick } from '../report.js';
import { Service, Stage } from '../stage.js';

// Toxiproxy (github.com/Shopify/toxiproxy) between the service and its clients, and between it and PostgreSQL: each of its
// toxics, on the way there and on the way back. Needs Go, which installs it into drill/.work.

const VERSION = '2.5.0';
const FOLDER = resolve(`drill/.work/toxiproxy-${VERSION}`);
/** Milliseconds of a toxic: no request may take longer than the service's DATABASE_TIMEOUT because of it. */
const PHASE_MS = 3_000;
/** Toxics and their attributes: milliseconds, kB a second, bytes; of a slicer the delay is in microseconds. */
const TOXICS: readonly (readonly [name: string, type: string, attributes: object])[] = [
  ['latency', 'latency', { latency: 300, jitter: 200 }],
  ['bandwidth', 'bandwidth', { rate: 20 }],
  ['slicer', 'slicer', { average_size: 8, size_variation: 4, delay: 50 }],
  ['limit_data', 'limit_data', { bytes: 5_000 }],
  ['reset_peer', 'reset_peer', { timeout: 200 }],
  ['black hole', 'timeout', { timeout: 0 }],
  ['slow_close', 'slow_close', { delay: 1_000 }],
];
const SIDES = [
  ['clients', 'between clients and service'],
  ['store', 'between service and PostgreSQL'],
] as const;

/** The service, whose clients come through a proxy. */
class ProxiedService extends Service {
  private clientPort = 0;

  constructor(
    store: TemporaryStore,
    token: string,
    private readonly toxiproxy: Toxiproxy,
  ) {
    super(store, token);
  }

  override async start(): Promise<void> {
    await super.start();
    this.clientPort = await this.toxiproxy.add('clients', this.port);
  }

  override client(connections?: number): Client {
    return new Client(this.clientPort, this.token, connections);
  }
}

/** A running Toxiproxy, by its HTTP interface. */
class Toxiproxy {
  private constructor(
    private readonly url: string,
    private readonly process: ReturnType<typeof spawn>,
  ) {}

  static async start(): Promise<Toxiproxy> {
    const program = `github.com/Shopify/toxiproxy/v2/cmd/server@v${VERSION}`;
    const env = { ...process.env, GOBIN: FOLDER };
    if (!existsSync(`${FOLDER}/server`)) execFileSync('go', ['install', program], { env });
    const port = await freePort();
    const started = spawn(`${FOLDER}/server`, ['-port', String(port)], { stdio: 'ignore' });
    const url = `http://127.0.0.1:${port}`;
    while (!(await fetch(`${url}/version`).catch(() => undefined))) await sleep(20);
    return new Toxiproxy(url, started);
  }

  /** Makes a proxy to a port. Returns the port where it listens. */
  async add(name: string, port: number): Promise<number> {
    const upstream = `127.0.0.1:${port}`;
    const { listen } = await this.ask('POST', '/proxies', {
      name,
      listen: '127.0.0.1:0',
      upstream,
    });
    return Number(String(listen).split(':').at(-1));
  }

  /** Poisons a way of a proxy for a while. */
  async poison(proxy: string, stream: string, type: string, attributes: object): Promise<void> {
    const path = `/proxies/${proxy}/toxics`;
    await this.ask('POST', path, { name: type, type, stream, attributes });
    await sleep(PHASE_MS);
    await this.ask('DELETE', `${path}/${type}`);
  }

  stop(): void {
    this.process.kill();
  }

  private async ask(method: string, path: string, body?: object) {
    const response = await fetch(this.url + path, { method, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text || '{}') as Record<string, unknown>;
  }
}

/** Puts each toxic on each way of both sides, under load. */
export async function poisonConnections(): Promise<Scenario[]> {
  const server = await PostgresServer.start();
  const toxiproxy = await Toxiproxy.start();
  const url = new URL(server.url());
  url.port = String(await toxiproxy.add('store', Number(url.port)));
  const { store, token } = await Service.over(new PostgresStore(url.href, 'postgres'));
  const service = new ProxiedService(store, token, toxiproxy);
  const stage = await Stage.start(service, new Scenario('before the toxics'));
  const scenarios = SIDES.map(([side, name]) => [side, new Scenario(`toxics: ${name}`)] as const);
  for (const [side, scenario] of scenarios)
    for (const stream of ['upstream', 'downstream'])
      for (const [name, type, attributes] of quick ? TOXICS.slice(-2) : TOXICS) {
        console.log(`${side}, ${stream}: ${name}`);
        await stage.round(scenario, () => toxiproxy.poison(side, stream, type, attributes));
      }
  await stage.finish(new PostgresStore(server.url(), 'postgres'));
  toxiproxy.stop();
  await server.remove();
  return scenarios.map(([, scenario]) => scenario);
}
