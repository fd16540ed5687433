import { readConfig } from '../../src/config/read-config.js';
import { migrateStore } from '../../src/database/open-store.js';
import type { Ran } from './cli.js';
import { runHere } from './cli-in-process.js';
import { createStore } from './engine.js';
import { SqliteStore } from './sqlite-store.js';
import type { StoredPlant, TemporaryStore } from './temporary-store.js';

/** One more than the highest id. */
export const END = 2n ** 63n;
/** Plants that a copy could spoil. */
export const PLANTS: StoredPlant[] = [
  { id: -END, name: 'lowest', tag: null },
  { id: -1n, name: '', tag: '' },
  { id: 0n, name: 'NULL', tag: 'null' },
  { id: 2n ** 53n, name: '{"a",NULL}', tag: '\\' },
  { id: 2n ** 53n + 1n, name: "Alder 木 🌵 é e\u0301 \u2028\n\t'", tag: '"' },
  // Long enough for pages of their own.
  ...[5n, 6n, 7n].map((i) => ({ id: END - i, name: '長'.repeat(500_000), tag: null })),
  { id: END - 1n, name: 'highest', tag: 'x' },
];

/** A store to copy from and one to copy to, with their schemas and nothing in them. */
export async function createStores(): Promise<[source: SqliteStore, target: TemporaryStore]> {
  const [source, target] = [new SqliteStore(), await createStore()];
  for (const { url } of [source, target]) await migrateStore(readConfig({ DATABASE_URL: url }));
  return [source, target];
}

/** Runs a command on a store. */
export function cli(store: TemporaryStore, line: string): Promise<Ran> {
  return runHere(line.split(' '), { cwd: store.folder, env: { DATABASE_URL: store.url } });
}

/** Copies from one store to another. */
export function copy(from: TemporaryStore, to: TemporaryStore): Promise<Ran> {
  return runHere(['copy', '--from', from.url, '--to', to.url], { cwd: from.folder });
}

/** Puts plants into a store past the service. */
export function put(source: SqliteStore, plants: readonly StoredPlant[]): void {
  const database = source.open();
  const insert = database.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?)');
  database.transaction(() => plants.forEach(({ id, name, tag }) => insert.run(id, name, tag)))();
  database.close();
}

/** Makes a token, and returns its secret. */
export async function makeToken(store: TemporaryStore, name: string): Promise<string> {
  return (await cli(store, `token create ${name} --expires 90d`)).stdout.trim();
}

/** All that is stored of every token but its id, in the order of the ids. */
export function tokens(store: TemporaryStore): Promise<Record<string, unknown>[]> {
  const columns = 'name, hash, created_at, expires_at, revoked_at, last_used_at';
  return store.rows(`SELECT ${columns} FROM tokens ORDER BY id`);
}

/** What a copy says in the end where all is well. */
export function done(plants: number, tokenCount: number, further = '', tokensToo = ''): RegExp {
  const digest = 'sha256 ([0-9a-f]{64})';
  return new RegExp(
    `^plants in the source: ${plants}, ${digest}\nplants in the target: ${plants}, sha256 \\1${further}\n` +
      `tokens in the source: ${tokenCount}, ${digest}\ntokens in the target: ${tokenCount}, sha256 \\2${tokensToo}\n$`,
  );
}
