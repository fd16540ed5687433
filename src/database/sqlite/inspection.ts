/**
 * What a store on SQLite is. Everybody who opens one asks this file, and the service once a second: what is not so is a
 * problem, with what to do about it, until it is so again.
 *
 * 1. Its files are those that were opened, each by its one name: place.ts.
 * 2. As bytes, the file and its log are the store's own: content.ts.
 * 3. Through SQLite, which sees the log, it has an id with which it was opened. With another one somebody has copied a
 *    database into it, as by sqlite3's `.restore`: tokens and plants are no longer those that the service knows.
 * 4. Its texts are UTF-8, as export and backup read them, and it has a write-ahead log.
 * 5. Each table is an ordinary one. It has each column, of its type, as SQLite would change a value to the form of another
 *    type, and one that may be null, or has a value of its own, wherever the service writes none. Its key is the primary key,
 *    or alone in a unique index of all rows: else an id could be there twice.
 * 6. It has run every migration. Further ones, tables and columns are a newer version's, or the operator's.
 * 7. Each index of a key can be read: a damaged one fails lookups of tokens, while plants are still committed.
 *
 * The thread looks at all of it; who opens the store on the main thread, at 4 to 6. The thread loads this file too: it imports
 * nothing but types.
 */
import type { Finding } from '../store-errors.js';
import type { TableShape } from '../tables.js';

/** What a store must have, and the operator's commands that give it that. */
export interface Expected {
  readonly tables: readonly TableShape[];
  readonly migrationsTable: string;
  /** With the SQL that puts its row back. */
  readonly migrations: readonly Readonly<{ name: string; insert: string }>[];
  readonly putBackup: string;
  readonly convertToUtf8: string;
}

/** Runs a query on any connection to the store. */
export type ListRows = <Row>(sql: string, ...parameters: readonly unknown[]) => Row[];

const RENAME_BACK =
  'if it was renamed, rename it back; else restore a backup (docs/operating.md#restore)';
/** A backup has every row, in tables as the migrations make them. */
const PUT_BACKUP =
  "'put a backup in its place, which has every row, but no further column: stop the service, then ' || (SELECT put_backup FROM given)";

/** Finds what tables lack of what the migrations make. Parameters: the tables, as JSON; what puts a backup in their place. */
const FIND_IN_TABLES = `
WITH given (tables, put_backup) AS (SELECT ?, ?),
wanted AS (
  SELECT value->>'name' AS name, value->>'key' AS key, value->>'isGenerated' AS is_generated, value->'columns' AS columns
  FROM given, json_each(tables)
),
found AS (
  SELECT wanted.*, list.type FROM wanted
  LEFT JOIN pragma_table_list AS list ON list.schema = 'main' AND list.name = wanted.name COLLATE NOCASE
),
held AS (
  SELECT found.name AS "table", held.* FROM found, pragma_table_xinfo(found.name) AS held WHERE found.type = 'table'
),
named AS (
  SELECT found.name AS "table", value->>'name' AS name, value->>'type' AS type, value->>'isNullable' AS is_nullable
  FROM found, json_each(found.columns) WHERE found.type = 'table'
),
cols AS (
  SELECT named.*, cid, held.type AS has_type, "notnull" AS is_required, hidden <> 0 AS is_generated,
    'the column ' || named.name || ' of ' || named."table" AS what
  FROM named LEFT JOIN held ON held."table" = named."table" AND held.name = named.name COLLATE NOCASE
)
SELECT 'missing' AS effect, 'the table ' || name || ' is missing' AS what, '${RENAME_BACK}' AS remedy
FROM found WHERE type IS NULL
UNION ALL
SELECT 'unsafe', name || ' is no ordinary table, but a ' || type, 'give its name to the table that has the rows'
FROM found WHERE type <> 'table'
UNION ALL
SELECT 'missing', what || ' is missing', '${RENAME_BACK}' FROM cols WHERE cid IS NULL
UNION ALL
SELECT 'unsafe', what || ' is generated', ${PUT_BACKUP} FROM cols WHERE is_generated
UNION ALL
SELECT 'unsafe', what || ' is of type ' || iif(has_type = '', 'none', has_type) || ', not ' || type, ${PUT_BACKUP}
FROM cols WHERE has_type <> type COLLATE NOCASE
UNION ALL
SELECT 'unsafe', what || ' must have a value, which a plant may lack', ${PUT_BACKUP} FROM cols WHERE is_nullable AND is_required
UNION ALL
SELECT 'unsafe', 'the column ' || name || ' of ' || "table" || ' must have a value, which this version does not write', ${PUT_BACKUP}
FROM held WHERE hidden = 0 AND "notnull" AND dflt_value IS NULL AND NOT EXISTS (
  SELECT 1 FROM named WHERE named."table" = held."table" AND named.name = held.name COLLATE NOCASE)
UNION ALL
SELECT 'unsafe', 'no unique index of ' || name || ' has its key, ' || key || ', alone, so that an id could be stored twice',
  iif(is_generated, ${PUT_BACKUP},
    'run \`CREATE UNIQUE INDEX ' || name || '_' || key || ' ON ' || name || ' (' || key || ')\`; if that names an id that is there twice, keep one of the two first')
FROM found
WHERE type = 'table' AND EXISTS (SELECT 1 FROM held WHERE "table" = found.name AND held.name = key COLLATE NOCASE)
  AND (SELECT count(*) <> 1 OR max(name) <> key COLLATE NOCASE FROM held WHERE "table" = found.name AND pk > 0)
  AND (is_generated OR NOT EXISTS (
    SELECT 1 FROM pragma_index_list(found.name) AS i JOIN pragma_index_info(i.name) AS c
    WHERE i."unique" AND NOT i.partial GROUP BY i.name HAVING count(*) = 1 AND max(c.name) = key COLLATE NOCASE))`;

/** Finds by SQL what a store lacks of what its migrations make. */
export function inspectBySql(list: ListRows, expected: Expected): readonly Finding[] {
  return [
    ...inspectEncoding(list, expected),
    ...list<Finding>(FIND_IN_TABLES, JSON.stringify(expected.tables), expected.putBackup),
    ...inspectMigrations(list, expected),
  ];
}

/** Finds that somebody has copied another database into the store. @param ids any, if there are none */
export function inspectId(list: ListRows, file: string, ids: readonly number[]): Finding[] {
  const [found] = list<{ application_id: number }>('PRAGMA application_id');
  if (ids.length === 0 || ids.includes(found?.application_id ?? 0)) return [];
  const what = `another database was copied into ${file} while the service runs, as by sqlite3's .restore`;
  return [
    unsafe(what, 'restart the service: the store has what was copied, and what was stored since'),
  ];
}

export function inspectLogMode(list: ListRows): Finding[] {
  const [found] = list<{ journal_mode: string }>('PRAGMA journal_mode');
  if (found?.journal_mode === 'wal') return [];
  return [unsafe(`the store has no write-ahead log`, 'restart the service, which gives it one')];
}

/** Reads the first entry of each index that a migration makes. @throws Error with SQLite's code */
export function readIndexes(list: ListRows, { tables }: Expected): void {
  for (const { name } of tables)
    for (const index of list<{ name: string }>(
      "SELECT name FROM pragma_index_list(?) WHERE origin <> 'c'",
      name,
    ))
      list(`SELECT 1 FROM "${name}" INDEXED BY "${index.name}" LIMIT 1`);
}

function inspectEncoding(list: ListRows, { convertToUtf8 }: Expected): Finding[] {
  const [found] = list<{ encoding: string }>('PRAGMA encoding');
  if (found?.encoding === 'UTF-8') return [];
  const what = `its texts are ${found?.encoding}, not UTF-8`;
  // A reader would take each text for a damaged one.
  return [{ effect: 'hidden', what, remedy: `stop the service, then ${convertToUtf8}` }];
}

function inspectMigrations(
  list: ListRows,
  { migrations, migrationsTable }: Expected,
): readonly Finding[] {
  const columns = list<{ name: string }>('SELECT * FROM pragma_table_info(?)', migrationsTable);
  // A table that is missing is told of already.
  if (!columns.some(({ name }) => name === 'name')) return [];
  const ran = list<{ name: string }>(`SELECT name FROM ${migrationsTable}`);
  return migrations
    .filter((migration) => !ran.some(({ name }) => name === migration.name))
    .map(({ name, insert }) => ({
      effect: 'missing',
      what: `${migrationsTable} has lost the row of ${name}`,
      remedy: `put it back by SQL, \`${insert}\``,
    }));
}

function unsafe(what: string, remedy: string): Finding {
  return { effect: 'unsafe', what, remedy };
}
