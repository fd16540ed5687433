import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { SERVER_CORE, start } from './machine.js';
import type { Sample } from './measure.js';

export type Engine = 'SQLite' | 'PostgreSQL';

/** A server to be measured. */
type Contestant = ReturnType<typeof service>;

/** A running server. */
export type Server = Awaited<ReturnType<typeof startServer>>;

/** Servers that do less than the service: a script, whether it stores plants, and whether requests need the token. */
const OTHERS: Readonly<Record<Engine, Record<string, readonly [string, boolean, boolean?]>>> = {
  SQLite: {
    'stock Nest, empty handler': ['stock-nest.js', false],
    'Nest as documented': ['nest.js', true, true],
    'Fastify, empty handler': ['stock-fastify.js', false],
    'Fastify + better-sqlite3': ['fastify.js', true],
    'bare node:http': ['bare.js', false],
  },
  PostgreSQL: {
    'stock Nest + repository.insert()': ['nest.js', true],
    'Nest as documented': ['nest.js', true, true],
    'Fastify + pg': ['fastify.js', true],
  },
};

/** The service and the others; each has its own store. */
export async function contestantsOn(
  engine: Engine,
  newStore: () => Promise<TemporaryStore>,
): Promise<Contestant[]> {
  const own = service(`this service on ${engine}`, await newStore());
  const contestants = [own];
  for (const [name, [script, isStoring, isGuarded]] of Object.entries(OTHERS[engine])) {
    const [store, { token }] = [await newStore(), own];
    const args = [resolve('dist/bench/servers', script)];
    const env = { DATABASE_URL: store.url, TOKEN: token, ...(isGuarded && { GUARDED: 'yes' }) };
    contestants.push({ name, args, env, token, store, isStoring });
  }
  return contestants;
}

/** The built service. Creates the store and a token by its commands. */
function service(name: string, store: TemporaryStore) {
  const program = resolve('dist/src/cli.js');
  const env: Record<string, string> = { DATABASE_URL: store.url, PORT: '0', MANAGEMENT_PORT: '0' };
  const run = (...command: string[]) =>
    execFileSync(process.execPath, [program, ...command], { cwd: store.folder, env });
  run('migrate');
  const token = run('token', 'create', 'bench').toString().trim();
  return { name, args: [program, 'serve'], env, token, store, isStoring: true };
}

/**
 * Starts a server on its core. Resolves once it has printed its address.
 *
 * @throws Error if it ends before
 */
export async function startServer(contestant: Contestant) {
  const { name, args, env, store } = contestant;
  // Without our own environment and `.env`, so that, say, the shell's BODY_LIMIT changes nothing.
  const child = start(SERVER_CORE, [process.execPath, ...args], {
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
    return { ...contestant, url, pid, stop, accepted: 0, samples: [] as Sample[] };
  }
  throw new Error(`${name} did not start`);
}
