import type { QueryRunner } from 'typeorm';
import type { SnapshotReader } from '../engine.js';
import { DamageError } from '../store-errors.js';

const PAGE_ROWS = 32;

/** `lines` and `sound` are NULL if there are no more rows. */
interface Page {
  readonly lines: Buffer | null;
  readonly last: bigint | number;
  readonly sound: 0 | 1 | null;
}

export const sqliteReader: SnapshotReader = {
  begin: (runner) => runner.query('BEGIN'),

  async check(runner, tables) {
    const found = await checkIntegrity(runner);
    if (found === 'ok') return true;
    throw new DamageError(`${await nameDamaged(runner, found, tables)}${found}`);
  },

  /** Reads pages of few rows, which fit into memory. SQLite joins a page's lines: faster than one row after the other. */
  async *read(runner, { table, columns, form, after, to }) {
    const sound = await describeSound(runner, table);
    const toText = (column: string) => `CAST(${column} AS text)`;
    const toMember = (column: string) => `'${column}', ${column}`;
    const line =
      form === 'array'
        ? `json_array(${columns.map(toText).join()})`
        : // A merge patch drops members that are null (RFC 7396).
          `json_patch('{}', json_object(${columns.map(toMember).join()}))`;
    // No bound by default: a damaged row whose id is a text sorts after all integers, and must be found.
    const atMost = to === undefined ? '' : `AND id <= ${to}`;
    const sql = `
      SELECT CAST(group_concat(CASE WHEN sound THEN ${line} || char(10) END, '' ORDER BY id) AS BLOB) AS lines,
        MAX(id) AS last, MIN(sound) AS sound
      FROM (SELECT *, ${sound} AS sound FROM ${table} WHERE id > ? ${atMost} ORDER BY id LIMIT ${PAGE_ROWS})`;
    for (let previous: bigint | number = after ?? -Infinity; ;) {
      const [page]: Page[] = await runner.manager.query<Page[]>(sql, [previous]);
      if (page?.sound === 0) throw new DamageError(await describeUnsound(runner, table, sound));
      if (!page?.lines) return;
      previous = page.last;
      yield page.lines;
    }
  },
};

/** Returns the first damage to the file, or to a table and its indexes; `ok` if there is none. */
async function checkIntegrity({ manager }: QueryRunner, table = '1'): Promise<string> {
  type Row = { integrity_check: string };
  const [row] = await manager.query<Row[]>(`PRAGMA integrity_check(${table})`);
  return row?.integrity_check.replace('*** in database main ***\n', '') ?? '';
}

/** Names the damaged table or index, for which SQLite has at most the number of its first page, `Tree 3`. */
async function nameDamaged(runner: QueryRunner, damage: string, tables: readonly string[]) {
  const root = /^Tree (\d+)/.exec(damage)?.[1] ?? 0;
  const sql = `SELECT type || ' ' || name || ': ' AS name FROM sqlite_schema WHERE rootpage = ${root}`;
  const [tree] = await runner.manager.query<{ name: string }[]>(sql);
  if (tree) return tree.name;
  for (const table of tables)
    if ((await checkIntegrity(runner, table)) !== 'ok') return `table ${table}: `;
  return '';
}

/** SQL of whether the values of a row have the types of their columns: SQLite stores any type in any column. */
async function describeSound({ manager }: QueryRunner, table: string): Promise<string> {
  const columns = await manager.query<{ name: string; type: string; notnull: number }[]>(
    'SELECT name, lower(type) AS type, "notnull" FROM pragma_table_info(?)',
    [table],
  );
  const conditions = columns.map(({ name, type, notnull }) => {
    const isText = `typeof(${name}) = 'text' AND instr(${name}, char(0)) = 0`;
    const isSound = type === 'text' ? isText : `typeof(${name}) = 'integer'`;
    return notnull ? isSound : `(${name} IS NULL OR ${isSound})`;
  });
  return `(${conditions.join(' AND ')})`;
}

async function describeUnsound({ manager }: QueryRunner, table: string, sound: string) {
  const sql = `SELECT quote(id) AS id FROM ${table} WHERE NOT ${sound} LIMIT 1`;
  const [row] = await manager.query<{ id: string }[]>(sql);
  return `${table}: the row of id ${row?.id} has a value of a wrong type, or U+0000`;
}
