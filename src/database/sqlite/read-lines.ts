import type { QueryRunner } from 'typeorm';
import type { ColumnType } from '../column-types.js';
import type { LinesQuery } from '../engine.js';
import { DamageError } from '../store-errors.js';

const PAGE_ROWS = 32;

interface Page {
  /** Null if there are no more rows. */
  readonly lines: Buffer | null;
  readonly last: bigint | number | string;
  /** The id, as SQL writes it, of a row that has a value of a wrong type. */
  readonly invalid: string | null;
}

const isInteger = (column: string) => `typeof(${column}) = 'integer'`;

/** Conditions that a value has the type of its column: SQLite stores any type in any column. */
const IS_VALID: Readonly<Record<ColumnType, (column: string) => string>> = {
  text: (column) => `typeof(${column}) = 'text' AND instr(${column}, char(0)) = 0`,
  bigint: isInteger,
  integer: isInteger,
  boolean: (column) => `${column} IN (0, 1)`,
};

/** Reads pages of few rows, which fit into memory. SQLite joins the lines of a page, which is faster than a row for each. */
export async function* readLines(
  { manager }: QueryRunner,
  { table, columns, form, only }: LinesQuery,
): AsyncGenerator<Buffer> {
  const line =
    form === 'array'
      ? `json_array(${columns.map(({ name }) => `CAST("${name}" AS text)`).join()})`
      : // A merge patch drops members that are null (RFC 7396).
        `json_patch('{}', json_object(${columns.map(toMember).join()}))`;
  const isValid = columns
    .map(({ name, type }) => `("${name}" IS NULL OR ${IS_VALID[type](`"${name}"`)})`)
    .join(' AND ');
  const id = `"${table.key.name}"`;
  const filter = only ? `AND "${only.column}" = ?` : '';
  const parameters = only ? [only.text] : [];
  const sql = `
    SELECT CAST(group_concat(${line} || char(10), '' ORDER BY ${id}) FILTER (WHERE "row is valid") AS BLOB) AS lines,
      MAX(${id}) AS last, MIN(quote(${id})) FILTER (WHERE NOT "row is valid") AS invalid
    FROM (SELECT *, ${isValid} AS "row is valid" FROM "${table.name}" WHERE ${id} > ? ${filter} ORDER BY ${id} LIMIT ${PAGE_ROWS})`;
  for (let previous: bigint | number | string = -Infinity; ;) {
    const [page]: Page[] = await manager.query<Page[]>(sql, [previous, ...parameters]);
    if (typeof page?.invalid === 'string') {
      const what = 'has a value of a wrong type, or U+0000';
      throw new DamageError(`${table.name}: the row of id ${page.invalid} ${what}`);
    }
    if (!page?.lines) return;
    previous = page.last;
    yield page.lines;
  }
}

/** Returns SQL of a member of a JSON object. SQLite has no booleans. */
function toMember({ field, name, type }: LinesQuery['columns'][number]): string {
  if (type !== 'boolean') return `'${field}', "${name}"`;
  return `'${field}', json(CASE "${name}" WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)`;
}
