import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import type { Rows } from '../../database/engine.js';
import type { Snapshot } from '../../database/snapshot.js';
import type { Store } from '../../database/open-store.js';
import type { Row } from '../../database/statements.js';
import { COLUMNS } from '../../plants/plant.entity.js';
import { PlantsRepository } from '../../plants/plants.repository.js';
import { progressOf } from '../progress.js';

const LINE_FEED = 0x0a;

/** Whole lines of text, many in each chunk. */
export type Chunks = AsyncIterable<Buffer>;

/** A table of a store that a backup holds, with all of its columns; the first is its key. */
export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** Stores rows, in the order of their keys; a plant whose id is taken is left as it is. */
  insert(store: Store, rows: readonly Row[]): Promise<unknown>;
}

/** Plants first: before its tokens are there, nobody can write to a store. */
export const TABLES: readonly Table[] = [
  {
    name: 'plants',
    columns: Object.values(COLUMNS).map(({ name }) => name),
    insert: ({ writePath }, rows) => new PlantsRepository(writePath).insertRows(rows),
  },
  {
    name: 'tokens',
    columns: ['id', 'name', 'hash', 'created_at', 'expires_at', 'revoked_at', 'last_used_at'],
    insert: insertTokens,
  },
];

/** With their ids, which TypeORM's own insert would leave to PostgreSQL. */
async function insertTokens(store: DataSource, rows: readonly Row[]): Promise<void> {
  const elements =
    store.options.type === 'postgres' ? 'json_array_elements($1::json)' : 'json_each(?)';
  const times = [3, 4, 5, 6].map((i) => `CAST(value->>${i} AS BIGINT)`).join(', ');
  await store.query(
    `INSERT INTO tokens (id, name, hash, created_at, expires_at, revoked_at, last_used_at)
    SELECT CAST(value->>0 AS INTEGER), value->>1, value->>2, ${times} FROM ${elements}`,
    [JSON.stringify(rows)],
  );
}

/** Has PostgreSQL number the next token after those that were inserted with their numbers, as SQLite does anyway. */
export async function finishTokens(store: DataSource): Promise<void> {
  if (store.options.type !== 'postgres') return;
  await store.query(
    "SELECT setval(pg_get_serial_sequence('tokens', 'id'), (SELECT MAX(id) FROM tokens))",
  );
}

/** Which rows, by their keys; all if left out. */
type Range = Pick<Rows, 'after' | 'to'>;

/** The rows of a table: a JSON array of strings on each line, the same on every engine. */
function linesOf(snapshot: Snapshot, { name, columns }: Table, range: Range): Chunks {
  const cells = columns.map((column, i) => {
    const before = i === 0 ? '[' : ',';
    return { column, before, isString: true, ifNull: `${before}null` };
  });
  return snapshot.lines({ table: name, cells, end: ']', ...range });
}

/** The rows of a chunk of lines. */
export function rowsOf(chunk: Buffer): Row[] {
  return JSON.parse(`[${chunk.toString().trimEnd().replaceAll('\n', ',')}]`) as Row[];
}

export function countLines(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1))
    count += 1;
  return count;
}

/** A count of lines, and the SHA-256 of all of them. */
export class Digest {
  count = 0;
  private latest: Buffer | undefined;
  private readonly hash = createHash('sha256');

  add(chunk: Buffer): void {
    this.latest = chunk;
    this.hash.update(chunk);
    this.count += countLines(chunk);
  }

  /** The key of the last line; undefined where there is none. */
  get last(): bigint | undefined {
    return this.latest && BigInt(rowsOf(this.latest).at(-1)?.[0] ?? 0);
  }

  /** Of the lines so far; more may be added. */
  get sha256(): string {
    return this.hash.copy().digest('hex');
  }

  toString(): string {
    return `${this.count}, sha256 ${this.sha256}`;
  }

  toJSON() {
    return { count: this.count, sha256: this.sha256 };
  }
}

/** Of every table, by its name. */
export type Digests = ReadonlyMap<string, Digest>;

/** Reads all of a store. */
export async function digestsOf(store: Snapshot): Promise<Digests> {
  const digests = new Map<string, Digest>();
  for (const table of TABLES) digests.set(table.name, await read('checking', store, table));
  return digests;
}

/** Digests the rows of a table, each chunk once something is done with it. */
export async function read(
  stage: string,
  store: Snapshot,
  table: Table,
  range: Range = {},
  work?: (chunk: Buffer) => Promise<unknown>,
): Promise<Digest> {
  const digest = new Digest();
  const progress = progressOf(`${stage} ${table.name}:`, digest);
  try {
    for await (const chunk of linesOf(store, table, range)) {
      await work?.(chunk);
      digest.add(chunk);
    }
  } finally {
    progress.end();
  }
  return digest;
}
