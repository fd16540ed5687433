import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { residentMb, SERVER_CORE, start } from './machine.js';
import { number } from './markdown.js';
import { options } from './options.js';

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

/** Fills a store in random order, so that its pages are as full as creates leave them. */
const FILL = (prefix: string, randomId: string) => `${prefix}
  INSERT INTO plants (id, name, tag, created_by, created_at)
  WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${options.plants})
  SELECT ${randomId}, 'Black alder', 'Alnus glutinosa', 'token:1', 1763700000000 FROM numbers
  WHERE true ON CONFLICT DO NOTHING`;
const FILLS: Readonly<Record<Engine, string>> = {
  SQLite: FILL('PRAGMA cache_size = -1000000;', 'random()'),
  PostgreSQL: FILL('', 'random(-9223372036854775808, 9223372036854775807)'),
};

/** The service, the others, and what options add; each has its own store. */
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
  const { beside, plants } = options;
  if (plants > 0) {
    const large = service(`with ${number(plants)} plants`, await newStore());
    await large.store.execute(FILLS[engine]);
    contestants.push(large);
  }
  if (beside !== undefined) {
    const commit = execFileSync('git', ['-C', beside, 'rev-parse', '--short', 'HEAD']);
    contestants.push(service(`commit ${commit.toString().trim()}`, await newStore(), beside));
  }
  return contestants;
}

/** The service of a built tree. Creates the store and a token by its commands. */
function service(name: string, store: TemporaryStore, tree = '.') {
  const program = resolve(tree, 'dist/src/cli.js');
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
  const began = performance.now();
  // Without our own environment and `.env`, so that, say, the shell's BODY_LIMIT changes nothing.
  const child = start(SERVER_CORE, [process.execPath, ...args], {
    cwd: store.folder,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
  });
  const lines = createInterface(child.stdout as Readable);
  const url = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      // The service prints the address of its management too.
      const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
      if (found !== undefined && !line.includes('Management')) resolve(found);
    });
    lines.once('close', () => reject(new Error(`${name} did not start`)));
  });
  const { pid = NaN } = child;
  const [startMs, idleMb] = [performance.now() - began, residentMb(pid)];
  const stop = async (): Promise<void> => {
    const ended = once(child, 'close');
    child.kill('SIGTERM');
    await ended;
  };
  return { ...contestant, startMs, idleMb, url, pid, stop, accepted: 0 };
}
