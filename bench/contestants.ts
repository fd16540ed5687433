import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { freePort } from '../test/support/postgres-programs.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { SERVER_CORE, start } from './machine.js';

type Engine = 'SQLite' | 'PostgreSQL';

/** A server to be measured. */
export type Contestant = ReturnType<typeof service>;

/** A running server. */
export type Server = Awaited<ReturnType<typeof startServer>>;

export const STOCK_NEST = 'stock Nest, empty handler';
export const STORING_NEST = 'stock Nest + repository.insert()';

/** Servers that do less than the service: a script, whether it stores plants, and a variable of its environment. */
const OTHERS: Readonly<Record<Engine, Record<string, readonly [string, boolean, string?]>>> = {
  SQLite: {
    [STOCK_NEST]: ['stock-nest.js', false],
    'Nest as documented': ['nest.js', true, 'GUARDED'],
    'Fastify + better-sqlite3': ['fastify.js', true],
    'Fastify + better-sqlite3, in groups': ['fastify.js', true, 'GROUPED'],
    'bare node:http': ['bare.js', false],
  },
  PostgreSQL: {
    [STORING_NEST]: ['nest.js', true],
    'Nest as documented': ['nest.js', true, 'GUARDED'],
    'Fastify + pg': ['fastify.js', true],
  },
};

/** The service and the others; each has its own store. @param names of the others */
export async function contestantsOn(
  engine: Engine,
  newStore: () => Promise<TemporaryStore>,
  names = Object.keys(OTHERS[engine]),
): Promise<Contestant[]> {
  const own = service(`this service on ${engine}`, await newStore());
  const contestants = [own];
  for (const name of names) {
    const [script = '', isStoring = false, variable] = OTHERS[engine][name] ?? [];
    const [store, { token }] = [await newStore(), own];
    const command = [process.execPath, resolve('dist/bench/servers', script)];
    const env = { DATABASE_URL: store.url, TOKEN: token, ...(variable && { [variable]: 'yes' }) };
    contestants.push({ name, command, env, token, store, isStoring, isNode: true });
  }
  return contestants;
}

/** PocketBase, built by Go, which runs handlers on any thread. Its store is in a folder of its own, which is not counted. */
export async function pocketBase(store: TemporaryStore): Promise<Contestant> {
  const program = join(store.folder, 'pocketbase');
  execFileSync('go', ['build', '-o', program], { cwd: 'bench/servers/pocketbase' });
  const token = execFileSync(program, ['token'], { cwd: store.folder }).toString().trim();
  const command = [program, 'serve', `--http=127.0.0.1:${await freePort()}`];
  return { name: 'PocketBase', command, env: {}, token, store, isStoring: false, isNode: false };
}

/** The built service. Creates the store and a token by its commands. */
function service(name: string, store: TemporaryStore) {
  const program = resolve('dist/src/cli.js');
  const env: Record<string, string> = { DATABASE_URL: store.url, PORT: '0', MANAGEMENT_PORT: '0' };
  const run = (...args: string[]) =>
    execFileSync(process.execPath, [program, ...args], { cwd: store.folder, env });
  run('migrate');
  const token = run('token', 'create', 'bench').toString().trim();
  const command = [process.execPath, program, 'serve'];
  return { name, command, env, token, store, isStoring: true, isNode: true };
}

/**
 * Starts a server on its core. Resolves once it has printed its address.
 *
 * @throws Error if it ends before
 */
export async function startServer(contestant: Contestant) {
  const { name, command, env, store } = contestant;
  // Without our own environment and `.env`, so that, say, the shell's RATE_LIMIT changes nothing.
  const child = start(SERVER_CORE, command, {
    cwd: store.folder,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
  });
  const { pid = NaN, stdout } = child as typeof child & { stdout: Readable };
  const stop = async (): Promise<void> => {
    const ended = once(child, 'close');
    child.kill('SIGTERM');
    await ended;
  };
  for await (const line of createInterface(stdout)) {
    // The service prints the address of its management too.
    const [url] = /(?<!Management.*)http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url === undefined) continue;
    stdout.resume();
    return { ...contestant, url, pid, stop, accepted: 0 };
  }
  throw new Error(`${name} did not start`);
}
