/**
 * What a store on SQLite must be: what the migrations made, with its plants, and the tokens of those who may create plants.
 * Whoever opens a store inspects it by this file, and the service once a second, as an operator may change it meanwhile. Each
 * difference is a finding, with its remedy and its effect: rows that are there cannot be read (`hidden`), something is `missing`,
 * or plants could be lost (`unsafe`). While there is one, the service responds to creates with 503 (database/inspection.ts). A
 * command that only reads stops if rows are hidden, as its output would lack them, and fails by itself at what is missing.
 *
 * 1. Its files are those that were opened, each by its one name: place.ts.
 * 2. As bytes, the file and its log are the store's own: content.ts.
 * 3. Through SQLite, which sees the log, it has the `application_id` that the start has given it, or, until a checkpoint has
 *    written that to the file, the one before. If it has another one, somebody has copied a database into it, as by sqlite3's
 *    `.restore`: tokens and plants are no longer those that the service knows.
 * 4. Its texts are UTF-8, as export and backup read them, and it has a write-ahead log (the file `-wal`), to which commits go.
 * 5. Each table is an ordinary one. It has each column with its type: SQLite would change a value to the form of another type.
 *    Where the service writes no value, a column may be null, or has a default. The key is the primary key, or alone in a
 *    unique index of all rows: otherwise an id could be stored twice. A key that SQLite numbers must be the primary key.
 * 6. It has run every migration. Further migrations, tables and columns are a newer version's, or the operator's.
 * 7. The first page of each index of a key can be read. If one is damaged, tokens are not found, while creates of those in the
 *    cache still succeed.
 *
 * The writer's thread, which has a connection of its own, inspects all of it. Whoever opens a store on the main thread inspects
 * 4 to 6. The thread loads this file: its imports are as writer.worker.ts says.
 */
import { RESTORE, unsafe, type Finding } from '../finding.ts';
import type { TableShape } from '../tables.ts';

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

/** SQL of the SQL that takes the name from what has it. @param name SQL of the name */
const moveAside = (name: string): string =>
  `'ALTER TABLE ' || ${name} || ' RENAME TO ' || ${name} || '_unused; '`;

/** SQL of how a row of `others` gets its name back, which the SQL `free` takes from what has it. @param more SQL of what follows */
const giveBack = (free: string, more: string): string => `
  iif(are_several, 'give its name back to its former table, one of ' || other,
    'if ' || other || ', which has its columns, is the former one, run \`BEGIN; ' || ${free}
      || 'ALTER TABLE ' || other || ' RENAME TO ' || "table" || '; COMMIT\`' || ${more})`;

/** SQL of a remedy for a table whose name is free, or that of something else, which the SQL `free` takes from it. */
const renameBack = (free: string): string => `
  coalesce(
    (SELECT ${giveBack(free, "''")} FROM others WHERE others."table" = found.name),
    'give its name to the table that has the rows')`;

/** SQL of a remedy for a table that is not as the migrations make it, as it is in a backup. @param table SQL of its name */
const remake = (table: string): string => `
  coalesce(
    (SELECT ${giveBack(
      moveAside('"table"'),
      `', insert the rows that \`SELECT ' || key || ' FROM ' || "table" || '_unused EXCEPT SELECT ' || key || ' FROM ' || "table"
      || '\` lists, if any, and drop ' || "table" || '_unused'`,
    )}
      || '; if it is not, move ' || other || ' into a file of its own, and '
      FROM others WHERE others."table" = ${table}), '')
  || 'put a backup in place of the file, which has every row, but no further column: stop the service, then ' || (SELECT put_backup FROM given)`;

/**
 * Finds texts that are not UTF-8, and what tables lack of what the migrations make. `found` are the tables that must be there,
 * each with the type that it has; `others` are tables that are not the store's, but have all columns of one of these: each may be
 * the former one, renamed. `held` are the columns that they have, `named` those that they must have, and `cols` the latter beside
 * the former. Parameters: the tables, as JSON; both commands.
 */
const FIND_PROBLEMS = `
WITH given (tables, put_backup, convert_to_utf8) AS (SELECT ?, ?, ?),
found AS (
  SELECT value->>'name' AS name, value->>'key' AS key, value->>'isGenerated' AS is_numbered, value->'columns' AS columns, list.type
  FROM given, json_each(tables)
  LEFT JOIN pragma_table_list AS list ON list.schema = 'main' AND list.name COLLATE NOCASE = value->>'name'
),
others AS (
  SELECT found.name AS "table", coalesce(key, 'rowid') AS key, group_concat(printf('"%w"', list.name), ', ') AS other, count(*) > 1 AS are_several
  FROM found, pragma_table_list AS list
  WHERE list.schema = 'main' AND list.type = 'table' AND list.name NOT GLOB 'sqlite_*' AND list.name <> 'migrations'
    AND NOT EXISTS (SELECT 1 FROM found AS own WHERE own.name = list.name COLLATE NOCASE)
    AND NOT EXISTS (
      SELECT 1 FROM json_each(found.columns)
      WHERE NOT EXISTS (SELECT 1 FROM pragma_table_info(list.name) AS has WHERE has.name = value->>'name' COLLATE NOCASE))
  GROUP BY 1
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
-- The effect is that of hidden rows, so that commands that read stop too: they would report each text as damaged.
SELECT 'hidden' AS effect, 'its texts are ' || encoding || ', not UTF-8' AS what, 'stop the service, then ' || convert_to_utf8 AS remedy
FROM given, pragma_encoding WHERE encoding <> 'UTF-8'
UNION ALL
SELECT 'missing', 'the table ' || name || ' is missing', ${renameBack("''")} || ', or ${RESTORE}'
FROM found WHERE type IS NULL
UNION ALL
SELECT 'unsafe', name || ' is no ordinary table, but a ' || type, ${renameBack(`iif(type = 'view', 'DROP VIEW ' || name || '; ', ${moveAside('name')})`)}
FROM found WHERE type <> 'table'
UNION ALL
SELECT 'missing', what || ' is missing', 'if it was renamed, rename it back; else '
  || iif(is_nullable AND "table" = 'plants', 'run \`ALTER TABLE ' || "table" || ' ADD ' || name || ' ' || type || '\`, which keeps every row without its value, or ', '') || '${RESTORE}'
FROM cols WHERE cid IS NULL
UNION ALL
SELECT 'unsafe', what || ' is generated', ${remake('cols."table"')} FROM cols WHERE is_generated
UNION ALL
SELECT 'unsafe', what || ' is of type ' || iif(has_type = '', 'none', has_type) || ', not ' || type, ${remake('cols."table"')}
FROM cols WHERE has_type <> type COLLATE NOCASE
UNION ALL
SELECT 'unsafe', what || ' must have a value, which a plant may lack', ${remake('cols."table"')} FROM cols WHERE is_nullable AND is_required
UNION ALL
SELECT 'unsafe', 'the column ' || name || ' of ' || "table" || ' must have a value, which this version does not write', ${remake('held."table"')}
FROM held WHERE hidden = 0 AND "notnull" AND dflt_value IS NULL AND NOT EXISTS (
  SELECT 1 FROM named WHERE named."table" = held."table" AND named.name = held.name COLLATE NOCASE)
UNION ALL
SELECT 'unsafe', 'no unique index of ' || name || ' has its key, ' || key || ', alone, so that an id could be stored twice',
  iif(is_numbered, ${remake('found.name')},
    'run \`CREATE UNIQUE INDEX ' || name || '_' || key || ' ON ' || name || ' (' || key || ')\`; if an id is there twice, which check names, keep one of the two first')
FROM found
WHERE type = 'table' AND EXISTS (SELECT 1 FROM held WHERE "table" = found.name AND held.name = key COLLATE NOCASE)
  AND (SELECT count(*) <> 1 OR max(name) <> key COLLATE NOCASE FROM held WHERE "table" = found.name AND pk > 0)
  AND (is_numbered OR NOT EXISTS (
    SELECT 1 FROM pragma_index_list(found.name) AS i JOIN pragma_index_info(i.name) AS c
    WHERE i."unique" AND NOT i.partial GROUP BY i.name HAVING count(*) = 1 AND max(c.name) = key COLLATE NOCASE))`;

/** Finds what the story has as 5 and 6, and of 4 the encoding. */
export function inspectBySql(list: ListRows, expected: Expected): readonly Finding[] {
  const { tables, putBackup, convertToUtf8 } = expected;
  const found = list<Finding>(FIND_PROBLEMS, JSON.stringify(tables), putBackup, convertToUtf8);
  return [...found, ...inspectMigrations(list, expected)];
}

/** Finds what the story has as 3. @param ids those that it may have; if the list is empty, any */
export function inspectId(list: ListRows, file: string, ids: readonly number[]): Finding[] {
  const [found] = list<{ application_id: number }>('PRAGMA application_id');
  if (ids.length === 0 || ids.includes(found?.application_id ?? 0)) return [];
  const what = `another database was copied into ${file} while the service runs, as by sqlite3's .restore`;
  return [
    unsafe(
      what,
      `restart the service, which then has what was copied, and what was stored since; if that was a mistake, export the latter (export --audit ` +
        `tells when each plant was created), ${RESTORE}, and import them: clients send again what is still missing`,
    ),
  ];
}

export function inspectLogMode(list: ListRows): Finding[] {
  const [found] = list<{ journal_mode: string }>('PRAGMA journal_mode');
  if (found?.journal_mode === 'wal') return [];
  return [unsafe(`the store has no write-ahead log`, 'restart the service, which gives it one')];
}

/** Reads the first entry of each unique index, also of one that an operator has made for a key. @throws Error with SQLite's code */
export function readIndexes(list: ListRows, { tables }: Expected): void {
  for (const { name } of tables)
    for (const index of list<{ name: string }>(
      'SELECT name FROM pragma_index_list(?) WHERE "unique" AND NOT partial',
      name,
    ))
      list(`SELECT 1 FROM "${name}" INDEXED BY "${index.name.replaceAll('"', '""')}" LIMIT 1`);
}

function inspectMigrations(
  list: ListRows,
  { migrations, migrationsTable }: Expected,
): readonly Finding[] {
  const columns = list<{ name: string }>('SELECT * FROM pragma_table_info(?)', migrationsTable);
  // FIND_PROBLEMS has already found that the table, or its column, is missing.
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
