import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilEnd } from './cli.js';
import { Client } from './client.js';
import { createStore } from './engine.js';
import { Monitor } from './monitor.js';
import { RawConnection } from './raw-connection.js';
import { assertSecrecy, Log, LOG_ALL, recordSecrets } from './secrecy.js';
import type { TemporaryStore } from './temporary-store.js';

/** The built program; npm runs its scripts at the top of the project. */
const SERVE = [resolve('dist/src/cli.js'), 'serve'];

const ending = new AbortController();
process.once('exit', () => ending.abort());

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How a process ends that stops in order. */
export const ENDED: Exit = { code: 0, signal: null };

/** Options of a start. */
export interface Start {
  /** By default a new one. */
  readonly store?: TemporaryStore;
  /** A token of the store; by default the one printed at the first start. */
  readonly token?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it serves HTTPS, with a certificate of its own. */
  readonly isTls?: boolean;
  /** A command that Node's command line is appended to. */
  readonly under?: readonly string[];
}

/** Starts the built service with only these variables and PATH. */
export function spawnMain(
  store: TemporaryStore,
  env: Readonly<Record<string, string>> = {},
  under: readonly string[] = [],
): ChildProcessWithoutNullStreams {
  const [command = process.execPath, ...args] = [...under, process.execPath, ...SERVE];
  const own = { PORT: '0', MANAGEMENT_PORT: 'off', DATABASE_URL: store.url, ...LOG_ALL };
  const variables = { PATH: process.env.PATH, ...own, ...env };
  recordSecrets(Object.values(variables).join('\n'));
  const child = spawn(command, args, {
    // A folder without a developer's `.env`.
    cwd: store.folder,
    env: variables,
    // Ends it with this process at the latest.
    signal: ending.signal,
    killSignal: 'SIGKILL',
  });
  for (const stream of [child.stdout, child.stderr]) {
    const log = new Log();
    stream.on('data', (chunk: Buffer) => log.write(chunk));
  }
  return child;
}

/** Runs the service until it ends by itself. */
export async function runMain(
  store: TemporaryStore,
  env: Readonly<Record<string, string>>,
  under: readonly string[] = [],
) {
  const ran = await untilEnd(spawnMain(store, env, under));
  assertSecrecy();
  return ran;
}

/** The built service in its own process. */
export class ServiceProcess {
  private readonly clients: Client[] = [];

  private constructor(
    readonly store: TemporaryStore,
    readonly exited: Promise<Exit>,
    private readonly child: ChildProcessWithoutNullStreams,
    private readonly chunks: readonly string[],
    /** Its output until it was ready. */
    readonly printed: string,
    readonly port: number,
    readonly token: string,
    private readonly isTls: boolean,
  ) {}

  /** Resolves once the service listens; rejects if it ends before. */
  static async start({ store: given, token, env, isTls = false, under }: Start = {}) {
    const store = given ?? (await createStore());
    // Imported here, as few tests need it.
    const certificate = isTls ? await import('./certificate.js') : undefined;
    const tls = await certificate?.issueCertificate(store.folder, 'localhost');
    const child = spawnMain(store, { ...tls, ...env }, under);
    const ended = once(child, 'exit') as Promise<[Exit['code'], Exit['signal']]>;
    const exited = ended.then(([code, signal]) => ({ code, signal }));
    let printed = '';
    const chunks: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
    // Without a given token, waits for the printed one.
    const ready = token === undefined ? / (plant_\w+)\n[^]*curl[^]*'\n/ : /Plant store: http/;
    await new Promise<void>((begin, reject) => {
      child.stdout.on('data', function read(chunk: Buffer) {
        printed += chunk.toString();
        if (!ready.test(printed)) return;
        child.stdout.off('data', read);
        begin();
      });
      void exited.then(() => reject(new Error(`the service ended: ${chunks.join('')}`)));
    });
    const port = Number(/Plant store: \S+:(\d+)/.exec(printed)?.[1]);
    const own = token ?? /^ {2}(plant_\w+)$/m.exec(printed)?.[1] ?? '';
    return new ServiceProcess(store, exited, child, chunks, printed, port, own, isTls);
  }

  /** How it ended; undefined while it runs. */
  get exit(): Exit | undefined {
    const { exitCode: code, signalCode: signal } = this.child;
    return code === null && signal === null ? undefined : { code, signal };
  }

  /** Its output and log so far. */
  get output(): string {
    return this.chunks.join('');
  }

  /** Resolves once this many POST requests have arrived; `env` has PRINT_ARRIVALS. */
  async arrived(requests: number): Promise<void> {
    while (this.output.split('arrived\n').length <= requests) await sleep(5);
  }

  /** A client with the service's token; it is closed with the service. */
  client(connections?: number): Client {
    const client = new Client(this.port, this.token, connections, this.isTls);
    this.clients.push(client);
    return client;
  }

  /** Its log stream, for tests that control the reading. */
  get stdout(): Readable {
    return this.child.stdout;
  }

  get pid(): number {
    return this.child.pid ?? NaN;
  }

  /** A client of its management port, which MANAGEMENT_PORT has switched on. */
  get monitor(): Monitor {
    return Monitor.of(this);
  }

  connect(): Promise<RawConnection> {
    return RawConnection.open(this.port);
  }

  /** Resolves once it accepts no new connections. */
  async refuses(): Promise<void> {
    for (;;) {
      const connection = await this.connect().catch(() => undefined);
      if (!connection) return;
      connection.close();
      // Without a pause, thousands of connections would take the time in which the open ones are served.
      await sleep(10);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Closes the clients, for which it would wait a second, and stops it by SIGTERM. The store stays. */
  stop(): Promise<Exit> {
    this.closeClients();
    this.signal('SIGTERM');
    return this.exited;
  }

  /** Kills it. The store stays. */
  async kill(): Promise<Exit> {
    this.signal('SIGKILL');
    const exit = await this.exited;
    this.closeClients();
    assertSecrecy();
    return exit;
  }

  /** Kills it and removes its store. */
  async remove(): Promise<void> {
    await this.kill();
    await this.store.remove();
  }

  private closeClients(): void {
    for (const client of this.clients.splice(0)) client.close();
  }
}
