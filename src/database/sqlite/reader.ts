import type { SnapshotReader } from '../engine.js';
import type { KindName } from '../kinds.js';
import { DamageError } from '../store-errors.js';

const PAGE_ROWS = 32;

interface Page {
  /** Null if there are no more rows. */
  readonly lines: Buffer | null;
  readonly last: bigint | number;
  /** The id, as SQL, of a row that has a value of a wrong type. */
  readonly unsound: string | null;
}

/** SQL of whether a value has the type of its column: SQLite stores any type in any column. */
const IS_SOUND: Readonly<Record<KindName, (column: string) => string>> = {
  text: (column) => `typeof(${column}) = 'text' AND instr(${column}, char(0)) = 0`,
  bigint: (column) => `typeof(${column}) = 'integer'`,
};

export const sqliteReader: SnapshotReader = {
  begin: (runner) => runner.query('BEGIN'),

  async check({ manager }) {
    type Row = { integrity_check: string };
    const [row] = await manager.query<Row[]>('PRAGMA integrity_check(1)');
    const found = row?.integrity_check.replace('*** in database main ***\n', '') ?? '';
    if (found === 'ok') return true;
    // Of a damaged tree SQLite says only which page is its first.
    const root = /^Tree (\d+)/.exec(found)?.[1] ?? -1;
    const sql = `SELECT type || ' ' || name || ': ' AS name FROM sqlite_schema WHERE rootpage = ${root}`;
    const [tree] = await manager.query<{ name: string }[]>(sql);
    throw new DamageError((tree?.name ?? '') + found);
  },

  /** Reads pages of few rows, which fit into memory. SQLite joins a page's lines: faster than one row after the other. */
  async *read({ manager }, { table, columns, form }) {
    const line =
      form === 'array'
        ? `json_array(${columns.map(({ name }) => `CAST(${name} AS text)`).join()})`
        : // A merge patch drops members that are null (RFC 7396).
          `json_patch('{}', json_object(${columns.map(({ name }) => `'${name}', ${name}`).join()}))`;
    const sound = columns
      .map(({ name, type }) => `(${name} IS NULL OR ${IS_SOUND[type](name)})`)
      .join(' AND ');
    const sql = `
      SELECT CAST(group_concat(${line} || char(10), '' ORDER BY id) FILTER (WHERE sound) AS BLOB) AS lines,
        MAX(id) AS last, MIN(quote(id)) FILTER (WHERE NOT sound) AS unsound
      FROM (SELECT *, ${sound} AS sound FROM ${table} WHERE id > ? ORDER BY id LIMIT ${PAGE_ROWS})`;
    for (let previous: bigint | number = -Infinity; ;) {
      const [page]: Page[] = await manager.query<Page[]>(sql, [previous]);
      if (typeof page?.unsound === 'string') {
        const what = 'has a value of a wrong type, or U+0000';
        throw new DamageError(`${table}: the row of id ${page.unsound} ${what}`);
      }
      if (!page?.lines) return;
      previous = page.last;
      yield page.lines;
    }
  },
};
