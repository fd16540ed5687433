import type Database from 'better-sqlite3';
import type { SnapshotReader } from '../engine.js';
import { DamageError } from '../store-errors.js';
import { getConnection } from './query-runner.js';

/** Rows of a page. */
const PAGE_ROWS = 32;

export const sqliteReader: SnapshotReader = {
  begin: (runner) => runner.query('BEGIN'),

  async check(runner) {
    type Row = { integrity_check: string };
    const [row] = await runner.manager.query<Row[]>('PRAGMA integrity_check(1)');
    if (row?.integrity_check !== 'ok') throw new DamageError(row?.integrity_check);
    return true;
  },

  /** Reads pages of few rows, which fit into memory. SQLite joins a page's lines: faster than one row after the other. */
  *read({ dataSource }, { table, columns, form, after, to }) {
    const database = getConnection(dataSource);
    const sound = makeSoundCondition(database, table);
    const line =
      form === 'array'
        ? `json_array(${columns.map((column) => `CAST(${column} AS TEXT)`).join()})`
        : // A merge patch drops members that are null (RFC 7396).
          `json_patch('{}', json_object(${columns.map((column) => `'${column}', ${column}`).join()}))`;
    // No bound by default: a damaged row whose id is a text sorts after all integers, and must be found.
    const atMost = to === undefined ? '' : `AND id <= ${to}`;
    const pages = database
      .prepare<[bigint | number], [page: Buffer | null, last: bigint, areSound: bigint]>(
        `SELECT CAST(group_concat(CASE WHEN sound THEN ${line} || char(10) END, '' ORDER BY id) AS BLOB),
          MAX(id), MIN(sound)
        FROM (SELECT *, ${sound} AS sound FROM ${table} WHERE id > ? ${atMost} ORDER BY id LIMIT ${PAGE_ROWS})`,
      )
      .raw()
      .safeIntegers();
    for (let previous: bigint | number = after ?? -Infinity; ;) {
      const [page, last, areSound] = pages.get(previous) ?? [];
      if (areSound === 0n) throw new DamageError(describeUnsound(database, table, sound));
      if (!page || last === undefined) return;
      previous = last;
      yield page;
    }
  },
};

/** Makes the SQL condition that a row has the types that its table declares: SQLite stores any type in any column. */
function makeSoundCondition(database: Database.Database, table: string): string {
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
