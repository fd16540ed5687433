import { COMMIT_LEVEL, KEPT_COMMIT_LEVEL } from '../database/postgres-commit-level.js';
import { COMMIT_A_PAGE } from '../database/sqlite.js';
import { COLUMNS, CONTENT } from './plant.entity.js';

/** A row's values in the order of its table's columns. Integers are decimal digits: a double cannot hold them all. */
export type Row = readonly (string | null)[];

/** An engine's SQL for `plants`: one statement each, for any number of rows. */
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

const columns = Object.values(COLUMNS);
const names = columns.map(({ name }) => name).join(', ');
const content = CONTENT.join(', ');

const jsonValues = columns.map(({ type }, i) =>
  type === 'text' ? `value->>${i}` : `CAST(value->>${i} AS INTEGER)`,
);

/** A group of rows is one JSON text. */
const sqlite: Statements = {
  insert: `
    INSERT INTO plants (${names}) SELECT ${jsonValues.join(', ')} FROM json_each(?) WHERE true
    ON CONFLICT (id) DO NOTHING RETURNING CAST(id AS TEXT) AS id`,
  toInsertParameters: (rows) => [JSON.stringify(rows)],
  find: `
    SELECT CAST(id AS TEXT) AS id, ${content} FROM plants
    WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`,
  toFindParameters: (ids) => [JSON.stringify(ids)],
  probe: COMMIT_A_PAGE,
};

const arrays = columns.map(({ type }, i) => `$${i + 1}::${type}[]`);
const emitMessage = "pg_logical_emit_message(true, 'plant-store', '')";

/**
 * Inserts in the order of the ids, so that two groups wait for each other one way round only. The commit's level is kept
 * once, in a query of its own, not for each row.
 *
 * A lookup of what is stored writes a message to the log for each row, so it is a transaction that commits: it waits
 * for stable storage, and for the synchronous standby if there is one, as the commit of the row itself did. Otherwise a
 * row whose own commit was aborted before it was on the standby would pass for stored. The probe, an insert of no
 * rows, does the same; it needs the right to insert and a server that is not read-only. (The message's place in the
 * log is never null.)
 */
const postgresql: Statements = {
  insert: `
    INSERT INTO plants (${names}) SELECT ${names} FROM unnest(${arrays.join(', ')}) AS given (${names})
    ORDER BY id
    ON CONFLICT (id) DO NOTHING RETURNING id, (SELECT ${KEPT_COMMIT_LEVEL}) AS synchronous_commit`,
  toInsertParameters: (rows) => columns.map((_column, i) => rows.map((row) => row[i])),
  find: `
    SELECT id, ${content}, ${emitMessage}, ${KEPT_COMMIT_LEVEL} AS synchronous_commit
    FROM plants WHERE id = ANY($1::bigint[])`,
  toFindParameters: (ids) => [ids],
  probe: `
    WITH inserted AS (
      INSERT INTO plants (id) SELECT 0 FROM ${emitMessage} AS place WHERE place IS NULL RETURNING id
    )
    SELECT count, ${COMMIT_LEVEL} AS synchronous_commit FROM (SELECT count(*) FROM inserted) AS none`,
};

export const STATEMENTS = { sqlite, postgresql };
