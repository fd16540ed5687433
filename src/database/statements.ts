import type { Column } from './column-types.js';
import type { Table } from './tables.js';

/** SQL that the engines do not share. Rows are a parameter: a JSON array of arrays, in the order of the table's columns. */
export interface Statements {
  insert(table: Table): string;
  /** Numbers the next row of a table after the last one, if the database does not do so by itself. */
  renumber?(table: Table): string;
  /** Inserts the rows whose key is free, in a durable commit. The `count`s of the rows that it returns add up to how many. */
  insertFree(table: Table): string;
  /** Returns the `place` in the array of each row whose key is stored durably, and whether it has the `same` content. */
  compare(table: Table, content: readonly Column[]): string;
  /** Records when rows were last used. The parameter is a JSON array of `[id, time]`. */
  recordUses(table: string, column: string): string;
  /** Locks other changes of a table and a restore out, but not the records of uses, until the end of the transaction. */
  lockChanges(table: string): string;
}

/** SQL of the value that a row in JSON, `value`, has for a column. */
function readCell({ columns }: Table, { name, type }: Column): string {
  return `CAST(value->>${columns.findIndex((one) => one.name === name)} AS ${type})`;
}

/** SQL that inserts rows in JSON, each a `value`. @param rows SQL of where they come from */
export function insertFrom(rows: string, table: Table): string {
  const names = table.columns.map(({ name }) => `"${name}"`).join(', ');
  const values = table.columns.map((column) => `${readCell(table, column)} AS "${column.name}"`);
  return `INSERT INTO "${table.name}" (${names}) SELECT ${values.join(', ')} FROM ${rows}`;
}

/** SQL of whether a stored row has the key of a row in JSON. */
export function hasSameKey(table: Table): string {
  return `"${table.name}"."${table.key.name}" = ${readCell(table, table.key)}`;
}

/** SQL of whether a stored row has the content of a row in JSON, byte by byte. @param collation of texts, whatever that of the column */
export function isSame(table: Table, content: readonly Column[], collation: string): string {
  return content
    .map((column) => {
      const collate = column.type === 'text' ? ` COLLATE ${collation}` : '';
      return `"${table.name}"."${column.name}" IS NOT DISTINCT FROM ${readCell(table, column)}${collate}`;
    })
    .join(' AND ');
}
