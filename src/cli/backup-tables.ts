import { createHash } from 'node:crypto';
import type { Column } from '../database/column-types.js';
import type { Transaction } from '../database/transaction.js';
import { COLUMNS } from '../plants/plant.entity.js';
import { STATEMENTS } from '../plants/plants.repository.js';

/** A table of a store that a backup contains, with all of its columns. */
interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Inserts a JSON array of rows. */
  readonly insert: (target: Transaction, rows: string) => Promise<unknown>;
}

const TOKEN_COLUMNS = 'id name hash created_at expires_at revoked_at last_used_at'
  .split(' ')
  .map((name): Column => ({ name, type: /^(name|hash)$/.test(name) ? 'text' : 'bigint' }));

export const TABLES: readonly Table[] = [
  { name: 'plants', columns: COLUMNS, insert: insertPlants },
  { name: 'tokens', columns: TOKEN_COLUMNS, insert: insertTokens },
];

function insertPlants(target: Transaction, rows: string): Promise<unknown> {
  const { writer } = target.store;
  return target.query(STATEMENTS[writer.system](writer).insert, [rows]);
}

/** Inserts tokens with their ids, and has PostgreSQL number the next one after them, as SQLite does. */
async function insertTokens(target: Transaction, rows: string): Promise<void> {
  const isSqlite = target.store.writer.system === 'sqlite';
  const names = TOKEN_COLUMNS.map(({ name }) => name).join();
  const values = TOKEN_COLUMNS.map(({ type }, i) => `CAST(value->>${i} AS ${type})`).join();
  const from = isSqlite ? 'jsonb_each(?)' : 'jsonb_array_elements($1::jsonb)';
  await target.query(`INSERT INTO tokens (${names}) SELECT ${values} FROM ${from}`, [rows]);
  const next = "setval(pg_get_serial_sequence('tokens', 'id'), (SELECT MAX(id) FROM tokens))";
  if (!isSqlite) await target.query(`SELECT ${next}`);
}

/** Passes chunks of lines on, and counts the lines. */
export async function* countLines(
  chunks: AsyncIterable<Buffer>,
  done: { count: number },
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    yield chunk;
    for (let at = -1; (at = chunk.indexOf('\n', at + 1)) !== -1;) done.count += 1;
  }
}

type Digest = Readonly<{ count: number; sha256: string }>;
export type Digests = Readonly<Record<string, Digest>>;

/**
 * Reads all of a store, and copies it to a target if there is one. Returns digests of what was read: of lines with a JSON
 * array of strings each, the same on every engine.
 */
export async function digestTables(store: Transaction, target?: Transaction): Promise<Digests> {
  const digests: Record<string, Digest> = {};
  for (const { name, columns, insert } of TABLES) {
    const hash = createHash('sha256');
    const rows = { count: 0 };
    const lines = store.readLines({ table: name, columns, form: 'array' });
    for await (const chunk of countLines(lines, rows)) {
      hash.update(chunk);
      if (target) await insert(target, `[${chunk.toString().trimEnd().replaceAll('\n', ',')}]`);
    }
    digests[name] = { ...rows, sha256: hash.digest('hex') };
  }
  return digests;
}

export function formatDigests(digests: Digests): ReadonlyMap<string, string> {
  const entries = Object.entries(digests);
  return new Map(entries.map(([name, { count, sha256 }]) => [name, `${count}, sha256 ${sha256}`]));
}
