import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { readStartFlags } from '../test/support/start-flags.js';
import { residentMb, SERVER_CORE, start } from './machine.js';
import { options } from './options.js';

/** A server to be measured. */
type Contestant = ReturnType<typeof service>;

/** A running server. */
export type Server = Awaited<ReturnType<typeof startServer>>;

/** Another server than the service: its script, and variables besides those that all have. */
interface Other {
  readonly name: string;
  readonly script: string;
  readonly isStoring: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Requests need the token. */
const GUARDED = { GUARDED: 'yes' };

/** Servers that do less than the service. */
const OTHERS: Readonly<Record<'SQLite' | 'PostgreSQL', readonly Other[]>> = {
  SQLite: [
    { name: 'stock Nest, empty handler', script: 'stock-nest.js', isStoring: false },
    { name: 'Nest as documented', script: 'nest.js', isStoring: true, env: GUARDED },
    { name: 'Fastify, empty handler', script: 'stock-fastify.js', isStoring: false },
    { name: 'Fastify + better-sqlite3', script: 'fastify.js', isStoring: true },
    { name: 'bare node:http', script: 'bare.js', isStoring: false },
  ],
  PostgreSQL: [
    { name: 'stock Nest + repository.insert()', script: 'nest.js', isStoring: true },
    { name: 'Nest as documented', script: 'nest.js', isStoring: true, env: GUARDED },
    { name: 'Fastify + pg', script: 'fastify.js', isStoring: true },
  ],
};

/** The service, the others, and the service of another tree; each has its own store. */
export async function contestantsOn(
  engine: 'SQLite' | 'PostgreSQL',
  newStore: () => Promise<TemporaryStore>,
): Promise<Contestant[]> {
  const own = service(`this service on ${engine}`, await newStore());
  const contestants: Contestant[] = [own];
  for (const { script, env: variables, ...other } of OTHERS[engine]) {
    const [store, { token }] = [await newStore(), own];
    const args = [resolve('dist/bench/servers', script)];
    const env = { DATABASE_URL: store.url, TOKEN: token, ...variables };
    contestants.push({ ...other, args, env, token, store });
  }
  const { beside } = options;
  if (beside === undefined) return contestants;
  const commit = execFileSync('git', ['-C', beside, 'rev-parse', '--short', 'HEAD']);
  const name = `commit ${commit.toString().trim()}`;
  return [...contestants, service(name, await newStore(), beside)];
}

/**
 * The service as `npm start` runs it in a built tree. Creates the store and a token by its commands.
 *
 * @returns Node's arguments, the environment, a bearer token, and that accepted plants must be stored
 */
export function service(name: string, store: TemporaryStore, tree = '.') {
  const run = (...command: string[]) =>
    execFileSync(resolve(tree, 'bin/plant-store'), command, {
      cwd: store.folder,
      env: { PATH: process.env.PATH, DATABASE_URL: store.url },
    });
  run('migrate');
  const printed = run('token', 'create', 'bench');
  const args = [...readStartFlags(tree), resolve(tree, 'dist/src/main.js'), 'serve'];
  const token = printed.toString().trim();
  const env: Record<string, string> = { DATABASE_URL: store.url, PORT: '0', MANAGEMENT_PORT: '0' };
  return { name, args, env, token, store, isStoring: true };
}

/** Counts bytes on the main thread's heap in the lines of `--trace-gc-nvp`. The counts go on. */
function watchHeap(output: Readable) {
  /** Survived: kept by scavenges in new space; promoted: in the old one. */
  const heap = { allocated: 0, survived: 0, promoted: 0 };
  createInterface(output).on('line', (line) => {
    if (!/^\[\d+:0x[0-9a-f]+:0\]/.test(line)) return;
    // `"name":1` on Node 26, `name=1` before.
    const bytes = (name: string) =>
      Number(new RegExp(`\\b${name}"?[:=](\\d+)`).exec(line)?.[1] ?? 0);
    heap.allocated += bytes('allocated');
    // A full collection promotes all that it finds in new space: the figure depends on its moment.
    if (!/\bgc"?[:="]+s\b/.test(line)) return;
    heap.survived += bytes('new_space_survived');
    heap.promoted += bytes('promoted');
  });
  return heap;
}

/**
 * Starts a server on its core. Resolves once it has printed its address.
 *
 * @param traces whether Node prints each garbage collection, and `heap` counts
 * @throws Error if it ends before
 */
export async function startServer(contestant: Contestant, traces = false) {
  const { name, args, env, store } = contestant;
  const began = performance.now();
  // V8 prints through C's buffer, which would hold lines back into the next round.
  const trace = ['stdbuf', '-oL', options.node, '--trace-gc-nvp'];
  // Without our own environment and `.env`, so that, say, the shell's BODY_LIMIT changes nothing.
  const child = start(SERVER_CORE, [...(traces ? trace : [options.node]), ...args], {
    cwd: store.folder,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
  });
  const output = child.stdout as Readable;
  let url: string | undefined;
  for await (const line of createInterface(output)) {
    // The service prints the address of its management too.
    if (!line.includes('Management')) [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url !== undefined) break;
  }
  const { pid } = child;
  if (url === undefined || pid === undefined) throw new Error(`${name} did not start`);
  const stop = async (): Promise<void> => {
    const ended = once(child, 'close');
    child.kill('SIGTERM');
    await ended;
  };
  return {
    ...contestant,
    startMs: performance.now() - began,
    idleMb: residentMb(pid),
    heap: watchHeap(output),
    url,
    pid,
    stop,
  };
}
