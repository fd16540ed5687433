import { COMMIT_LEVEL, KEPT_COMMIT_LEVEL } from './postgres-commit-level.js';

/** A column of a table. */
export interface Column {
  readonly name: string;
  readonly type: 'bigint' | 'text';
}

/** A row's values in the order of its table's columns. Integers are decimal digits: a double cannot hold them all. */
export type Row = readonly (string | null)[];

/** An engine's SQL for a table whose key is `id`: one statement each, for any number of rows. */
export interface Statements {
  /** Inserts the rows whose id is free, no two of one id, and returns the ids of these, as text. */
  readonly insert: string;
  readonly toInsertParameters: (rows: readonly Row[]) => unknown[];
  /** Returns the content of ids, on stable storage. */
  readonly find: string;
  readonly toFindParameters: (ids: readonly string[]) => unknown[];
  /** Does all that an insert does, with no row. */
  readonly probe: string;
}

/** @param content the columns that `find` returns, besides the id */
export type MakeStatements = (
  table: string,
  columns: readonly Column[],
  content: readonly string[],
) => Statements;

/** Writes a number of the file's header again, which nothing of ours reads, and so commits a page. */
export const COMMIT_A_PAGE = 'PRAGMA user_version = 0';

/** A group of rows is one JSON text. */
export const makeSqliteStatements: MakeStatements = (table, columns, content) => {
  const values = columns.map(({ type }, i) =>
    type === 'text' ? `value->>${i}` : `CAST(value->>${i} AS INTEGER)`,
  );
  return {
    insert: `
      INSERT INTO ${table} (${listNames(columns)}) SELECT ${values.join(', ')} FROM json_each(?) WHERE true
      ON CONFLICT (id) DO NOTHING RETURNING CAST(id AS TEXT) AS id`,
    toInsertParameters: (rows) => [JSON.stringify(rows)],
    find: `
      SELECT ${['CAST(id AS TEXT) AS id', ...content].join(', ')} FROM ${table}
      WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`,
    toFindParameters: (ids) => [JSON.stringify(ids)],
    probe: COMMIT_A_PAGE,
  };
};

/**
 * Inserts in the order of the ids, so that two groups wait for each other one way round only. The commit's level is kept
 * once, in a query of its own, not for each row.
 *
 * With a message to the log for each row, a lookup of what is stored is a transaction that commits: it waits for
 * stable storage, and for the synchronous standby if there is one, as the commit of the row itself did. Otherwise a
 * row whose own commit was aborted before it was on the standby would pass for stored. The probe, an insert of no
 * rows, does the same; it needs the right to insert and a server that is not read-only. (The message's place in the
 * log is never null.)
 */
export const makePostgresStatements: MakeStatements = (table, columns, content) => {
  const names = listNames(columns);
  const arrays = columns.map(({ type }, i) => `$${i + 1}::${type}[]`);
  const emitMessage = "pg_logical_emit_message(true, 'plant-store', '')";
  return {
    insert: `
      INSERT INTO ${table} (${names}) SELECT ${names} FROM unnest(${arrays.join(', ')}) AS given (${names})
      ORDER BY id
      ON CONFLICT (id) DO NOTHING RETURNING id, (SELECT ${KEPT_COMMIT_LEVEL}) AS synchronous_commit`,
    toInsertParameters: (rows) => columns.map((_column, i) => rows.map((row) => row[i])),
    find: `
      SELECT ${['id', ...content].join(', ')}, ${emitMessage}, ${KEPT_COMMIT_LEVEL} AS synchronous_commit
      FROM ${table} WHERE id = ANY($1::bigint[])`,
    toFindParameters: (ids) => [ids],
    probe: `
      WITH inserted AS (
        INSERT INTO ${table} (id) SELECT 0 FROM ${emitMessage} AS place WHERE place IS NULL RETURNING id
      )
      SELECT count, ${COMMIT_LEVEL} AS synchronous_commit FROM (SELECT count(*) FROM inserted) AS none`,
  };
};

function listNames(columns: readonly Column[]): string {
  return columns.map(({ name }) => name).join(', ');
}
