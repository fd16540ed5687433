import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createStore } from './support/engine.js';
import { requestText, RawConnection } from './support/raw-connection.js';
import { runMain, spawnMain } from './support/service-process.js';
import type { TemporaryStore } from './support/temporary-store.js';

const WORKERS = 2;
const SHUTTING_DOWN = { status: 503, body: { error: 5003 } };

let store: TemporaryStore;
beforeEach(async () => {
  store = await createStore();
});
afterEach(() => store.remove());

/** The service in a process of its own, whose workers say when they listen. */
class Cluster {
  readonly primary = spawnMain(store, { WORKERS: `${WORKERS}`, LOG_LEVEL: 'debug' });
  /** Resolves once no process of the service is left that could print. */
  readonly ended = once(this.primary, 'close') as Promise<[code: number | null]>;
  stdout = '';
  stderr = '';
  private next = 0;

  constructor() {
    this.primary.stdout.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    this.primary.stderr.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
  }

  /** The workers that have come to listen, the first before the last, once there are as many. */
  async pids(count: number): Promise<number[]> {
    for (;;) {
      const pids = [...this.stdout.matchAll(/worker (\d+) listens/g)].map(([, pid]) => Number(pid));
      if (pids.length >= count && this.stdout.includes('curl')) return pids;
      if (this.primary.exitCode !== null) throw new Error(`it ended: ${this.stdout}${this.stderr}`);
      await pause();
    }
  }

  connect(): Promise<RawConnection> {
    return RawConnection.open(Number(/:(\d+)\/plants/.exec(this.stdout)?.[1]));
  }

  /** The bytes of a request that stores a plant of its own. */
  request(id = this.next++): string {
    const authorization = `Bearer ${/ (plant_\w+)\n/.exec(this.stdout)?.[1]}`;
    const headers = { authorization, 'content-type': 'application/json' };
    return requestText(headers, `{"id":${id},"name":"oak"}`);
  }
}

/** Connections that have had an answer each, so a worker has them. */
async function connections(service: Cluster, count: number): Promise<RawConnection[]> {
  const all = await Promise.all(Array.from({ length: count }, () => service.connect()));
  for (const one of all) expect(await answer(service, one)).toBe(200);
  return all;
}

/** The status of the next answer; undefined where the connection breaks before. */
async function answer(service: Cluster, connection: RawConnection): Promise<number | undefined> {
  const received = connection.write(service.request()).read();
  return received.then(({ status }) => status).catch(() => undefined);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

describe('several workers', () => {
  let service: Cluster;
  beforeEach(() => {
    service = new Cluster();
  });
  afterEach(async () => {
    service.primary.kill('SIGKILL');
    await service.ended;
  });

  it('share one port, and one that is killed is replaced while the other one serves', async () => {
    const [first = 0] = await service.pids(WORKERS);
    expect(service.stdout.match(/Plant store: /g)).toHaveLength(1);
    expect(await store.rows('SELECT id FROM tokens')).toHaveLength(1);

    const before = await connections(service, 8);
    process.kill(first, 'SIGKILL');
    const statuses = await Promise.all(before.map((one) => answer(service, one)));
    expect(new Set(statuses)).toEqual(new Set([200, undefined]));
    const told = `worker ${first} ended by SIGKILL; another one starts in 0 ms`;
    while (!service.stdout.includes(told)) await pause();
    expect(await connections(service, 8)).toHaveLength(8);

    // All serve as before: those that were there from the start, and the new one.
    const [, second = 0] = await service.pids(WORKERS + 1);
    process.kill(second, 'SIGKILL');
    await service.pids(WORKERS + 2);
    expect(await connections(service, 8)).toHaveLength(8);
    expect(service.stdout.match(/Plant store: /g)).toHaveLength(1);
    expect(await store.rows('SELECT id FROM tokens')).toHaveLength(1);
  });

  it('leave no client waiting for one that was killed before it took the connection', async () => {
    const [first = 0] = await service.pids(WORKERS);
    process.kill(first, 'SIGSTOP');
    const all = await Promise.all(Array.from({ length: 8 }, () => service.connect()));
    const statuses: unknown[] = [];
    const answers = all.map(async (one) => statuses.push(await answer(service, one)));
    while (statuses.length < 7) await pause();
    process.kill(first, 'SIGKILL');
    await Promise.all(answers);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, undefined]);
  });

  it('wait longer for each that ends soon after its start', async () => {
    for (let killed = 0; killed < 3; killed++) {
      process.kill((await service.pids(WORKERS + killed)).at(-1) ?? 0, 'SIGKILL');
    }
    await service.pids(WORKERS + 3);
    const waits = [...service.stdout.matchAll(/another one starts in (\d+) ms/g)];
    expect(waits.map(([, wait]) => Number(wait))).toEqual([0, 100, 200]);
  });

  it.each([
    ['SIGTERM to the primary', () => void service.primary.kill('SIGTERM')],
    [
      'SIGINT to all, as a terminal sends it',
      async () => {
        for (const pid of await service.pids(WORKERS)) process.kill(pid, 'SIGINT');
        service.primary.kill('SIGINT');
      },
    ],
  ])('end under load by %s: all is answered, exit 0', async (_name, end) => {
    await service.pids(WORKERS);
    let acknowledged = 0;
    const broken: unknown[] = [];

    /** Sends one plant after the other until the service has closed the connection. */
    async function load(connection: RawConnection): Promise<void> {
      for (;;) {
        const received = await connection.write(service.request()).read();
        if (received.status === 200) acknowledged++;
        else expect(received).toMatchObject(SHUTTING_DOWN);
        if (received.headers.connection === 'close') return connection.closed();
      }
    }
    const loads = (await connections(service, 16)).map((one) =>
      load(one).catch((error: unknown) => broken.push(error)),
    );
    while (acknowledged < 200 && broken.length === 0) await pause();
    await end();
    await Promise.all(loads);
    expect(broken).toEqual([]);
    expect((await service.ended)[0]).toBe(0);
    expect(await store.count()).toBeGreaterThanOrEqual(acknowledged);
    // None was started anew.
    expect(service.stdout).not.toContain('another one starts');
  });

  it('answer what they have, and end, when their primary is killed', async () => {
    await service.pids(WORKERS);
    const all = await connections(service, 8);
    const text = service.request();
    for (const one of all) one.write(text.slice(0, -5));
    service.primary.kill('SIGKILL');
    await once(service.primary, 'exit');
    for (const one of all) one.write(text.slice(-5));
    for (const one of all) expect((await one.read()).status).toBe(200);
    await service.ended;
  });
});

describe('a start with WORKERS', () => {
  it('of a port that another process has: exit 1, and the reason once', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const env = { WORKERS: '3', PORT: `${port}`, LOG_LEVEL: 'fatal' };
    const { code, stdout, stderr } = await runMain(store, env);
    other.close();
    const reason = 'PORT: another process listens on it already.\n';
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: reason });
  });

  it('of a store in SQLite is refused', async () => {
    const { code, stderr } = await runMain(store, { WORKERS: '2', DATABASE_URL: 'sqlite:./store' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The configuration is bad:\nWORKERS must be 1 with SQLite.*\n$/);
  });

  it.each(['1', '2'])('of %s ends at once while the store is away', async (workers) => {
    const env = { WORKERS: workers, DATABASE_URL: 'postgres://127.0.0.1:1/none' };
    const service = spawnMain(store, env);
    await once(service.stdout, 'data');
    const sent = performance.now();
    service.kill('SIGTERM');
    expect(await once(service, 'close')).toEqual([0, null]);
    expect(performance.now() - sent).toBeLessThan(2_000);
  });
});
