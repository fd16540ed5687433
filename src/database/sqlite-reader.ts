import { setImmediate } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import type { QueryRunner } from 'typeorm';
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import type { Cell, Rows, SnapshotReader } from './engine.js';
import { DamageError } from './store-errors.js';

/** Bytes of a chunk of lines, but for the last, at least. */
const CHUNK_LENGTH = 2 ** 18;

/** Rows of a page, which are held at once. */
const PAGE_ROWS = 32;

/** A store's rows as lines, of a connection that is open to read. */
export const reader: SnapshotReader = {
  begin: (runner) => runner.query('BEGIN'),
  check,
  lines: readLines,
};

async function check(runner: QueryRunner): Promise<boolean> {
  const [row] = (await runner.query('PRAGMA integrity_check(1)')) as { integrity_check: string }[];
  if (row?.integrity_check !== 'ok') throw new DamageError(row?.integrity_check);
  return true;
}

/**
 * Page by page, of few rows: memory holds what the longest may have. SQLite puts a page together, in half of the
 * time that its rows would take one by one (CPU time of a million: 1.0 s and 1.8 s).
 */
async function* readLines({ dataSource }: QueryRunner, rows: Rows): AsyncGenerator<Buffer> {
  const { cells, end, table, after, to } = rows;
  const line = [...cells.map(sqlOf), literal(end)].join(' || ');
  const driver = dataSource.driver as BetterSqlite3Driver;
  const database = driver.databaseConnection as Database.Database;
  const sound = soundnessOf(database, table);
  // Without a bound: a row whose id is a text comes after all integers.
  const atMost = to === undefined ? '' : `AND id <= ${to}`;
  const pages = database
    .prepare<[bigint | number], [chunk: Buffer | null, last: bigint, areSound: bigint]>(
      `SELECT CAST(group_concat(line || char(10), '' ORDER BY id) AS BLOB), MAX(id), MIN(sound) FROM (
        SELECT id, ${line} AS line, ${sound} AS sound FROM ${table} WHERE id > ? ${atMost} ORDER BY id
        LIMIT ${PAGE_ROWS})`,
    )
    .raw()
    .safeIntegers();
  let chunks: Buffer[] = [];
  let length = 0;
  for (let previous: bigint | number = after ?? -Infinity; ;) {
    const [chunk, last, areSound] = pages.get(previous) ?? [];
    if (!chunk || last === undefined) break;
    if (!areSound) throw new DamageError(describeUnsound(database, table, sound));
    previous = last;
    chunks.push(chunk);
    length += chunk.length;
    if (length < CHUNK_LENGTH) continue;
    yield Buffer.concat(chunks);
    [chunks, length] = [[], 0];
    // SQLite answers at once: progress and signals would never have their turn.
    await setImmediate();
  }
  if (length > 0) yield Buffer.concat(chunks);
}

/** The condition that a row is what its table declares: SQLite stores any type in any column. */
function soundnessOf(database: Database.Database, table: string): string {
  const columns = database
    .prepare<[string], { name: string; type: string; notnull: number }>(
      'SELECT name, lower(type) AS type, "notnull" FROM pragma_table_info(?)',
    )
    .all(table);
  const conditions = columns.map(({ name, type, notnull }) => {
    const orNull = notnull ? '' : ", 'null'";
    if (type !== 'text') return `typeof(${name}) IN ('integer'${orNull})`;
    return `typeof(${name}) IN ('text'${orNull}) AND coalesce(instr(${name}, char(0)), 0) = 0`;
  });
  return `(${conditions.join(' AND ')})`;
}

function describeUnsound(database: Database.Database, table: string, sound: string): string {
  const id = database.prepare(`SELECT quote(id) FROM ${table} WHERE NOT ${sound}`).pluck().get();
  return `${table}: the row of id ${String(id)} has a value of a wrong type, or U+0000`;
}

function sqlOf({ column, before, isString, ifNull }: Cell): string {
  const value = isString ? `json_quote(CAST(${column} AS TEXT))` : column;
  return `CASE WHEN ${column} IS NULL THEN ${literal(ifNull)} ELSE ${literal(before)} || ${value} END`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
