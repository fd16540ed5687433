import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import type { LinesQuery } from '../database/engine.js';
import type { Store } from '../database/open-store.js';
import type { Snapshot } from '../database/snapshot.js';
import { COLUMNS } from '../plants/plant.entity.js';
import { PlantsRepository, type Row } from '../plants/plants.repository.js';
import { showCount } from './terminal.js';

/** A table of a store that a backup holds, with all of its columns; the first is its key. */
interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** Stores rows, in the order of their keys; a plant whose id exists stays as it is. */
  insert(store: Store, rows: readonly Row[]): Promise<unknown>;
}

const TOKEN_COLUMNS = 'id name hash created_at expires_at revoked_at last_used_at'.split(' ');

/** Plants first: nobody can write to a store that has no tokens yet. */
export const TABLES: readonly Table[] = [
  {
    name: 'plants',
    columns: Object.values(COLUMNS).map(({ name }) => name),
    insert: ({ writePath }, rows) => new PlantsRepository(writePath).insertRows(rows),
  },
  { name: 'tokens', columns: TOKEN_COLUMNS, insert: insertTokens },
];

export const TABLE_NAMES = TABLES.map(({ name }) => name);

/** SQLite takes 32,766 parameters in a statement. */
const MAX_INSERTED_TOKENS = 4_000;

/** Inserts tokens with their ids: an insert of entities would leave those to PostgreSQL. */
async function insertTokens(store: DataSource, rows: readonly Row[]): Promise<void> {
  const values = rows.map((row) =>
    Object.fromEntries(TOKEN_COLUMNS.map((name, i) => [name, row[i]])),
  );
  for (let from = 0; from < values.length; from += MAX_INSERTED_TOKENS) {
    const insert = store.createQueryBuilder().insert().into('tokens', TOKEN_COLUMNS);
    await insert.values(values.slice(from, from + MAX_INSERTED_TOKENS)).execute();
  }
}

/** Makes PostgreSQL number the next token after the inserted ones, as SQLite does by itself. */
export async function finishTokens(store: DataSource): Promise<void> {
  if (store.options.type !== 'postgres') return;
  await store.query(
    "SELECT setval(pg_get_serial_sequence('tokens', 'id'), (SELECT MAX(id) FROM tokens))",
  );
}

/** The rows of a chunk of lines. */
function parseRows(chunk: Buffer): Row[] {
  return JSON.parse(`[${chunk.toString().trimEnd().replaceAll('\n', ',')}]`) as Row[];
}

export function countLines(chunk: Buffer): number {
  let count = 0;
  for (let at = -1; (at = chunk.indexOf('\n', at + 1)) !== -1;) count += 1;
  return count;
}

/** The count of a table's rows, and the SHA-256 of their lines. */
export interface Digest {
  readonly count: number;
  readonly sha256: string;
}

/** By the names of the tables. */
export type Digests = Readonly<Record<string, Digest>>;

/** Digests as text, by the names of the tables. */
export function formatDigests(digests: Digests): ReadonlyMap<string, string> {
  const entries = Object.entries(digests);
  return new Map(entries.map(([name, { count, sha256 }]) => [name, `${count}, sha256 ${sha256}`]));
}

/** Reads all of a store. */
export async function digestTables(store: Snapshot): Promise<Digests> {
  const digests: Record<string, Digest> = {};
  for (const table of TABLES) digests[table.name] = await digestTable('checking', store, table);
  return digests;
}

/**
 * Copies the rows whose keys come after the last stored key of their table.
 *
 * @returns the digests of what was copied
 */
export async function copyTables(
  source: Snapshot,
  target: Store,
  lastKeys: ReadonlyMap<string, bigint> = new Map(),
): Promise<Digests> {
  const digests: Record<string, Digest> = {};
  for (const table of TABLES) {
    const insert = (chunk: Buffer) => table.insert(target, parseRows(chunk));
    const range = { after: lastKeys.get(table.name) };
    digests[table.name] = await digestTable('copying', source, table, range, insert);
  }
  return digests;
}

/**
 * Digests rows of a table: a JSON array of strings on each line, the same on every engine.
 *
 * @param range the keys of the rows; all by default
 * @param handle is given each chunk of lines
 */
export async function digestTable(
  stage: string,
  store: Snapshot,
  { name, columns }: Table,
  range: Pick<LinesQuery, 'after' | 'to'> = {},
  handle?: (chunk: Buffer) => Promise<unknown>,
): Promise<Digest> {
  const cells = columns.map((column, i) => {
    const before = i === 0 ? '[' : ',';
    return { column, before, isString: true, ifNull: `${before}null` };
  });
  const hash = createHash('sha256');
  const rows = { count: 0 };
  const progress = showCount(`${stage} ${name}:`, rows);
  try {
    for await (const chunk of store.readLines({ table: name, cells, end: ']', ...range })) {
      await handle?.(chunk);
      hash.update(chunk);
      rows.count += countLines(chunk);
    }
  } finally {
    progress.end();
  }
  return { ...rows, sha256: hash.digest('hex') };
}

/** The highest key of a table; undefined without rows. */
export async function findLastKey(store: Snapshot, { name }: Table): Promise<bigint | undefined> {
  const [row] = await store.query<{ last: string | null }>(
    `SELECT CAST(MAX(id) AS TEXT) AS last FROM ${name}`,
  );
  return row?.last == null ? undefined : BigInt(row.last);
}
