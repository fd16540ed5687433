import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Client } from './client.js';
import { createStore } from './engine.js';
import { RawConnection } from './raw-connection.js';
import { demandSecrecy, Log, LOG_ALL, noteSecrets } from './secrecy.js';
import type { TemporaryStore } from './temporary-store.js';

/** As it was built; npm starts its scripts at the top of the project. */
const MAIN = resolve('dist/src/main.js');

const ending = new AbortController();
process.once('exit', () => ending.abort());

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What a process is started with. */
export interface Start {
  /** The store; a new one by default. */
  readonly store?: TemporaryStore;
  /** A token of the store; by default the one that is printed at the first start. */
  readonly token?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A command to run Node with: its arguments follow. */
  readonly under?: readonly string[];
}

/** Starts what was built, with no variable of the environment but these and PATH. */
export function spawnMain(
  store: TemporaryStore,
  env: Readonly<Record<string, string>> = {},
  under: readonly string[] = [],
): ChildProcessWithoutNullStreams {
  const [command, ...args] = [...under, process.execPath, MAIN];
  const own = { PORT: '0', MANAGEMENT_PORT: 'off', DATABASE_URL: store.url, ...LOG_ALL };
  const variables = { PATH: process.env.PATH, ...own, ...env };
  noteSecrets(Object.values(variables).join('\n'));
  const child = spawn(command, args, {
    // No file `.env` of a developer is there.
    cwd: store.folder,
    env: variables,
    // It ends at the latest when this process does.
    signal: ending.signal,
    killSignal: 'SIGKILL',
  });
  for (const stream of [child.stdout, child.stderr]) {
    const log = new Log();
    stream.on('data', (chunk: Buffer) => log.write(chunk));
  }
  return child;
}

/** Runs the service in the hope that it ends by itself. */
export async function runMain(store: TemporaryStore, env: Readonly<Record<string, string>>) {
  const child = spawnMain(store, env);
  const texts = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await once(child, 'exit')) as [number | null];
  const [stdout, stderr] = await texts;
  demandSecrecy();
  return { code, stdout, stderr };
}

/** The service as it was built, in a process of its own. */
export class ServiceProcess {
  private readonly clients: Client[] = [];

  private constructor(
    readonly store: TemporaryStore,
    readonly exited: Promise<Exit>,
    private readonly child: ChildProcessWithoutNullStreams,
    private readonly chunks: readonly string[],
    /** What it printed until it was ready. */
    readonly printed: string,
    readonly port: number,
    readonly token: string,
  ) {}

  /** Resolves once the service answers; rejects where it ends before. */
  static async start({ store: given, token, env, under }: Start = {}) {
    const store = given ?? (await createStore());
    const child = spawnMain(store, env, under);
    const exited = once(child, 'exit').then(([code, signal]): Exit => ({
      code: code as number,
      signal: signal as NodeJS.Signals,
    }));
    let printed = '';
    const chunks: string[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
    // Without a token to go by, the printed one is waited for.
    const ready = token === undefined ? / (plant_\w+)\n[^]*curl[^]*'\n/ : /\/plants[\n"]/;
    await new Promise<void>((begin, reject) => {
      child.stdout.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
        if (ready.test(printed)) begin();
      });
      void exited.then(() => reject(new Error(`the service ended: ${chunks.join('')}`)));
    });
    const port = Number(/:(\d+)\/plants/.exec(printed)?.[1]);
    const own = token ?? /^ {2}(plant_\w+)$/m.exec(printed)?.[1] ?? '';
    return new ServiceProcess(store, exited, child, chunks, printed, port, own);
  }

  /** All that it has printed and logged so far. */
  get output(): string {
    return this.chunks.join('');
  }

  /** A client with connections and a token; it is closed with the service. */
  client(connections?: number): Client {
    const client = new Client(this.port, this.token, connections);
    this.clients.push(client);
    return client;
  }

  /** Where it logs, for tests that do not read it. */
  get stdout(): Readable {
    return this.child.stdout;
  }

  get pid(): number {
    return this.child.pid ?? NaN;
  }

  connect(): Promise<RawConnection> {
    return RawConnection.open(this.port);
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends it at once; the store stays. */
  async kill(): Promise<Exit> {
    this.signal('SIGKILL');
    const exit = await this.exited;
    for (const client of this.clients) client.close();
    demandSecrecy();
    return exit;
  }

  /** Ends it at once and removes its store. */
  async remove(): Promise<void> {
    await this.kill();
    await this.store.remove();
  }
}
