import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { getSystem, type LinesQuery } from '../database/engine.js';
import type { Store } from '../database/store.js';
import type { Snapshot } from '../database/snapshot.js';
import { COLUMNS } from '../plants/plant.entity.js';
import { PlantsRepository } from '../plants/plants.repository.js';
import { showProgress } from './terminal.js';

/** A table of a store that a backup contains, with all of its columns; the first is its key. */
interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** Stores a JSON array of rows, in the order of their keys; a plant whose id exists stays as it is. */
  insert(store: Store, rows: string): Promise<unknown>;
}

const TOKEN_COLUMNS = 'id name hash created_at expires_at revoked_at last_used_at'.split(' ');

/** Plants first: without an identity provider, nobody can write to a store that has no tokens yet. */
export const TABLES: readonly Table[] = [
  {
    name: 'plants',
    columns: COLUMNS.map(({ name }) => name),
    insert: (store, rows) => new PlantsRepository(store, store.writer).insertRows(rows),
  },
  { name: 'tokens', columns: TOKEN_COLUMNS, insert: insertTokens },
];

export const TABLE_NAMES = TABLES.map(({ name }) => name);

/** Inserts tokens with their ids: an insert of entities would leave those to PostgreSQL. */
async function insertTokens(store: DataSource, rows: string): Promise<void> {
  const values = (JSON.parse(rows) as (string | null)[][]).map((row) =>
    Object.fromEntries(TOKEN_COLUMNS.map((name, i) => [name, row[i]])),
  );
  // SQLite takes 32,766 parameters, which are 4,680 tokens. A chunk has 256 KiB, and each token over 100 bytes.
  await store.createQueryBuilder().insert().into('tokens', TOKEN_COLUMNS).values(values).execute();
}

/** Makes PostgreSQL number the next token after the inserted ones, as SQLite does by itself. */
export async function finishTokens(store: Store): Promise<void> {
  if (getSystem(store.manager) === 'sqlite') return;
  await store.query(
    "SELECT setval(pg_get_serial_sequence('tokens', 'id'), (SELECT MAX(id) FROM tokens))",
  );
}

function toJsonArray(chunk: Buffer): string {
  return `[${chunk.toString().trimEnd().replaceAll('\n', ',')}]`;
}

/** Passes chunks of lines on, counts the lines and shows progress. */
export async function* countLines(
  what: string,
  chunks: AsyncIterable<Buffer>,
  done: { count: number },
): AsyncGenerator<Buffer> {
  using _progress = showProgress(
    (seconds) => `${what} ${done.count}, ${Math.round(done.count / seconds)}/s`,
  );
  for await (const chunk of chunks) {
    yield chunk;
    for (let at = -1; (at = chunk.indexOf('\n', at + 1)) !== -1;) done.count += 1;
  }
}

type Digest = Readonly<{ count: number; sha256: string }>;
export type Digests = Readonly<Record<string, Digest>>;

export function formatDigests(digests: Digests): ReadonlyMap<string, string> {
  const entries = Object.entries(digests);
  return new Map(entries.map(([name, { count, sha256 }]) => [name, `${count}, sha256 ${sha256}`]));
}

/** Reads all of a store, or copies the rows after the last keys of a target to it. @returns digests of what was read */
export async function digestTables(
  store: Snapshot,
  target?: Store,
  lastKeys?: ReadonlyMap<string, bigint>,
): Promise<Digests> {
  const digests: Record<string, Digest> = {};
  for (const table of TABLES) {
    const insert = target && ((chunk: Buffer) => table.insert(target, toJsonArray(chunk)));
    const range = { after: lastKeys?.get(table.name) };
    const stage = target ? 'copying' : 'checking';
    digests[table.name] = await digestTable(stage, store, table, range, insert);
  }
  return digests;
}

/** Digests rows of a table: a JSON array of strings on each line, the same on every engine. */
export async function digestTable(
  stage: string,
  store: Snapshot,
  { name, columns }: Table,
  range: Pick<LinesQuery, 'after' | 'to'> = {},
  handle?: (chunk: Buffer) => Promise<unknown>,
): Promise<Digest> {
  const hash = createHash('sha256');
  const rows = { count: 0 };
  const lines = store.readLines({ table: name, columns, form: 'array', ...range });
  for await (const chunk of countLines(`${stage} ${name}:`, lines, rows)) {
    await handle?.(chunk);
    hash.update(chunk);
  }
  return { ...rows, sha256: hash.digest('hex') };
}
