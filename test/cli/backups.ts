import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { readConfig } from '../../src/config/environment.js';
import { migrateStore } from '../../src/database/store.js';
import { runHere, type Ran } from '../support/cli.js';
import { createStore } from '../support/engine.js';
import { SqliteStore } from '../support/sqlite-store.js';
import type { StoredPlant, TemporaryStore } from '../support/temporary-store.js';

/** The highest id plus one. */
const END = 2n ** 63n;
/** Characters that a format may have to escape. */
const CHARACTERS = String.fromCodePoint(...Array.from({ length: 0x2ff }, (_, i) => i + 1));
/** Plants that a faulty backup could change, ordered by id. */
export const PLANTS: StoredPlant[] = [
  { id: -END, name: 'lowest', tag: null },
  { id: -1n, name: '', tag: '' },
  { id: 0n, name: 'NULL', tag: 'null' },
  { id: 1n, name: CHARACTERS, tag: '\\N' },
  { id: 2n, name: '\\.', tag: '\\\\t\\' },
  { id: 2n ** 53n, name: '{"a",NULL}', tag: '\\' },
  { id: 2n ** 53n + 1n, name: "Alder 木 🌵 é e\u0301 \u2028\n\t'", tag: '"' },
  // Long enough for their own chunks.
  ...[7n, 6n, 5n].map((i) => ({ id: END - i, name: '長'.repeat(500_000), tag: null })),
  { id: END - 1n, name: 'highest', tag: 'x' },
];

/** What `check` prints of an undamaged store, in which tables of other resources are empty. */
export const passed = (plants: number, tokens: number) => {
  const counts = `(\\w+: 0, )*plants: ${plants}, (\\w+: 0, )*tokens: ${tokens}(, \\w+: 0)*`;
  return expect.stringMatching(new RegExp(`^${counts}; no damage found\n$`));
};

/** Gives a new store its schema. */
async function migrated<Store extends TemporaryStore>(store: Store): Promise<Store> {
  await migrateStore(readConfig({ DATABASE_URL: store.url }));
  return store;
}

/** Creates an empty store on the engine under test, with its schema. */
export const createTarget = async () => migrated(await createStore());

/** Runs a command quietly on a store, in the store's folder. */
export function cli(store: TemporaryStore, line: string): Promise<Ran> {
  return runHere(line.split(' '), { cwd: store.folder, env: { DATABASE_URL: store.url } });
}

/** Inserts plants into a store past the service. */
export function put(source: SqliteStore, plants: readonly StoredPlant[]): void {
  const database = source.open();
  const insert = database.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?)');
  database.transaction(() => plants.forEach(({ id, name, tag }) => insert.run(id, name, tag)))();
  database.close();
}

/** Creates a token. Returns its secret. */
export async function makeToken(store: TemporaryStore, name: string): Promise<string> {
  return (await cli(store, `token create ${name} --expires 90d`)).stdout.trim();
}

/** Everything that a backup must keep, ordered by id: a text for plants and one for tokens, as Jest is slow with many objects. */
export async function contentOf(store: TemporaryStore): Promise<string[]> {
  return [
    await readTable(store, 'plants', ['id', 'name', 'tag', 'created_by', 'created_at']),
    await readTable(store, 'tokens', [
      ...['id', 'name', 'hash'],
      ...['created_at', 'expires_at', 'revoked_at', 'last_used_at'],
    ]),
  ];
}

/** A line for each row, with each value as text, as JSON has no bigints. */
async function readTable(store: TemporaryStore, table: string, columns: string[]): Promise<string> {
  const texts = columns.map((name) => `CAST(${name} AS text) AS ${name}`).join(', ');
  const rows = await store.rows<object>(`SELECT ${texts} FROM ${table} ORDER BY ${table}.id`);
  return rows.map((row) => JSON.stringify(Object.values(row))).join('\n');
}

/** SQL that inserts plants ordered by id. A chunk holds some two thousand of them. */
export function fillWith(count: number): string {
  return `
    WITH RECURSIVE row (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < ${count})
    INSERT INTO plants (id, name, tag, created_by, created_at)
    SELECT (i - 1000) * 9223372036854 + 3, 'plant ' || i, CASE WHEN i % 7 > 0 THEN 't' || i % 7 END,
      'token:1', 1763700000000 + i FROM row`;
}

/** Whether a restore has given a file its id, before the transaction that fills it. */
export function hasId({ path }: SqliteStore): boolean {
  const ids = `${path}-id`;
  return existsSync(ids) && /^\d+$/.test(readFileSync(ids, 'utf8'));
}

/** Flips a bit of a file: of the byte at an offset, or at the last occurrence of a text, as a schema has names too. */
export function flipBit(path: string, at: number | string, bit = 0): void {
  const bytes = readFileSync(path);
  const offset = typeof at === 'number' ? at : bytes.lastIndexOf(at);
  bytes.writeUInt8(bytes.readUInt8(offset) ^ (1 << bit), offset);
  writeFileSync(path, bytes);
}

/** The store to back up; new for each test of a file that calls `makeStores`. */
export let source: SqliteStore;
/** The store to restore to, on the engine under test. */
export let target: TemporaryStore;
/** The file of the backup, in the source's folder. */
export let file: string;

/** Creates `source` and `target` before each test of the file, and removes them after it. */
export function makeStores(): void {
  beforeEach(async () => {
    [source, target] = [await migrated(new SqliteStore()), await createTarget()];
    file = join(source.folder, 'backup.sqlite');
  });
  afterEach(async () => {
    await source.remove();
    await target.remove();
  });
}
