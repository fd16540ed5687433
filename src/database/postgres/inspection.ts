/**
 * What a store on PostgreSQL must be, as SQL. inspector.ts runs it when the store is opened, and a service once a second: the
 * server, the role or the tables may be changed meanwhile. One statement reads the catalog, PostgreSQL's own tables, and
 * returns each difference as a finding with its reason, its remedy and its effect: rows are `hidden` from the role, something
 * is `missing`, plants are `unsafe`, or the server is `read-only`. While there is one, the service responds to creates with
 * 503. The service reports the finding with the lowest rank, as it may be the reason of the others; `check` and `status` report
 * all of them.
 *
 * 1. The server keeps what it reports as written, and the session writes and reads as requests need it (settings.ts).
 * 2. The store is in the first schema of search_path, where new tables would go, and the role sees no other store: otherwise a
 *    start would make a second, empty store, or a command would read one.
 * 3. Each table is an ordinary, permanent one, or partitioned into such, and no table inherits from it: otherwise a crash
 *    could empty it, or rows of another table would count as its own.
 * 4. Each column has its type: otherwise texts could be changed. An insert may leave out a column that an operator has added.
 * 5. A unique index has the key alone: otherwise an id could be stored twice.
 * 6. No row is hidden from the role, and it has the rights that its work needs.
 *
 * Only if all that is so, inspector.ts reads rows too: whether a migration is missing, and a sequence behind its column.
 * Triggers, rules and further constraints are the operator's: a start warns of triggers and rules that may change or drop a
 * plant, by LIST_MEDDLERS.
 */
import { RESTORE } from '../finding.js';
import { readCatalog, type Size } from './catalog.js';
import { listWeaknesses, SESSION, SETTINGS, UNSET } from './settings.js';

/** The remedy for a search_path that leads to no store, or to another one. */
const CHOOSE_SCHEMA = `
  format(
    CASE (SELECT source FROM pg_settings WHERE name = 'search_path')
      WHEN 'client' THEN 'set search_path to %3$I where the client sets it, in DATABASE_URL or PGOPTIONS'
      ELSE 'run \`ALTER ROLE %1$I IN DATABASE %2$I SET search_path = %3$I\`' END,
    current_user, current_database(), coalesce(other, 'public'))`;

/** SQL of a remedy for a table whose name is free, or that of something else, which the SQL `free` takes from it. */
const renameBack = (free: string): string => `
  coalesce(
    (SELECT CASE count(*)
        WHEN 1 THEN format('if %1$s, which has its columns, is the former one, run \`BEGIN; %3$sALTER TABLE %1$s RENAME TO %2$s; COMMIT\`',
          min(other), found.ident, ${free})
        ELSE format('give its name back to its former table, one of %s', string_agg(other, ', ' ORDER BY other)) END
      FROM others WHERE others.ident = found.ident HAVING count(*) > 0),
    'give its name to the table that has the rows')`;

/**
 * Returns one row: `problems`, the gravest first, the `sequences`, whether there are workers of Citus, which are inspected too,
 * and what identifies the `server`, the `database` and the `tables`, as any may be another one a second later. catalog.ts says
 * what `place`, `stores`, `found`, `parts`, `cols` and `others` are. Parameters:
 *
 * - $1: the tables, with the rights that the role needs on them, as JSON;
 * - $2: whether a service runs. Then each missing table is a finding of its own; before a start, which may still make the store,
 *   one finding tells that there is none. A service sets the settings of UNSET for each of its commits, a command does not;
 * - $3: whether the role must be able to write.
 *
 * @param mayReadServer whether the role may read the server's identifier, which a standby that is promoted has of its primary
 */
export const findProblems = (mayReadServer: boolean, size: Size): string => `
${readCatalog(size)}
problems (rank, effect, what, remedy) AS (
  ${listWeaknesses([...SETTINGS, ...SESSION])}
  UNION ALL ${listWeaknesses(UNSET, 'NOT $2')}
  UNION ALL
  SELECT 1, 'read-only', 'the server is read-only, as a standby is, or by default_transaction_read_only',
    'let DATABASE_URL lead to the primary, or set default_transaction_read_only to off'
  WHERE $3 AND (pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on')
  UNION ALL
  SELECT 0, 'hidden', format('the role %I may use no schema of its search_path, %s', current_user, current_setting('search_path')),
    coalesce((
      SELECT format('run \`GRANT USAGE ON SCHEMA %I TO %I\`', nspname, current_user)
      FROM path JOIN pg_namespace ON nspname = path.name ORDER BY nspname <> coalesce(forbidden, '') LIMIT 1), ${CHOOSE_SCHEMA})
  FROM place WHERE first IS NULL
  UNION ALL
  SELECT 0, 'hidden', format('the role %I may not use the schema %I, which has a store', current_user, forbidden),
    format('run \`GRANT USAGE ON SCHEMA %I TO %I\`, or take the schema out of search_path', forbidden, current_user)
  FROM place WHERE first IS NOT NULL AND forbidden IS NOT NULL
  UNION ALL
  SELECT 0, 'hidden', format('the store is in the schema %I, and the first schema of search_path is %I', other, first), ${CHOOSE_SCHEMA}
  FROM place WHERE other IS NOT NULL AND forbidden IS NULL AND NOT has_store
  UNION ALL
  SELECT 0, 'hidden',
    format('there are stores in the schemas %s', (SELECT string_agg(quote_ident(name), ' and ' ORDER BY name) FROM stores)),
    format('compare the rows of their tables plants, and rename that of the one that is not to be used, such as by '
      '\`ALTER TABLE %I.plants RENAME TO plants_unused\`, which loses nothing',
      coalesce((SELECT max(name) FROM stores WHERE name <> first), first))
  FROM place WHERE 1 < (SELECT count(*) FROM stores)
  UNION ALL
  SELECT 0, 'missing', format('the schema %I has no plant store', first), 'put its tables back, or ${RESTORE}'
  FROM place WHERE first IS NOT NULL AND other IS NULL AND NOT has_store AND NOT $2
  UNION ALL
  SELECT 2, 'missing', format('the table %s is missing', ident), ${renameBack("''")} || ', or ${RESTORE}'
  FROM found WHERE oid IS NULL
  UNION ALL
  SELECT 2, 'hidden', format('row-level security may hide rows of %s from the role %I', ident, current_user),
    format('as a superuser run \`ALTER ROLE %I BYPASSRLS\`, or, if no role needs its policies, \`ALTER TABLE %s DISABLE ROW LEVEL SECURITY\`', current_user, ident)
  FROM found WHERE row_security_active(oid)
  UNION ALL
  SELECT 3, 'unsafe', format('%s is no ordinary table, but %s', ident,
      CASE relkind WHEN 'v' THEN 'a view' WHEN 'm' THEN 'a materialized view' WHEN 'f' THEN 'a foreign table' ELSE 'something else' END),
    ${renameBack("format(CASE found.relkind WHEN 'v' THEN 'DROP VIEW %1$s; ' ELSE 'ALTER TABLE %1$s RENAME TO %2$I; ' END, found.ident, found.name || '_unused')")}
  FROM found WHERE relkind NOT IN ('r', 'p')
  UNION ALL
  SELECT 3, 'unsafe', format('the partition %s of %s is no ordinary table', ident, whole), 'put an ordinary one with its rows in its place'
  FROM parts WHERE ident <> whole AND relkind NOT IN ('r', 'p')
  UNION ALL
  SELECT 3, 'unsafe', format('the table %s is unlogged, so that a crash would empty it', ident),
    format('run \`ALTER TABLE %s SET LOGGED\`', ident)
  FROM parts WHERE relpersistence = 'u' AND relkind = 'r'
  UNION ALL
  SELECT 3, 'unsafe', format('a temporary table has the name of %s', ident), format('run \`DROP TABLE %I.%I\`', nspname, relname)
  FROM found JOIN pg_class AS temporary ON temporary.oid = to_regclass(ident) JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE temporary.oid <> found.oid
  UNION ALL
  SELECT 3, 'unsafe', format('the rows of %s count as rows of %s, which it inherits from', inhrelid::regclass, ident),
    format('run \`BEGIN; INSERT INTO %2$s (%3$s) OVERRIDING SYSTEM VALUE SELECT %3$s FROM %1$s ON CONFLICT DO NOTHING; '
      'ALTER TABLE %1$s NO INHERIT %2$s; COMMIT\`, which copies the rows that %2$s lacks, and keeps %1$s as a table of its own',
      inhrelid::regclass, ident, (SELECT string_agg(quote_ident(name), ', ' ORDER BY attnum) FROM cols WHERE attrelid = oid AND NOT is_generated))
  FROM found JOIN pg_inherits ON inhparent = oid WHERE relkind <> 'p'
  UNION ALL
  SELECT 3, 'missing', format('the column %I of %s is missing', name, ident),
    'if it was renamed, rename it back; else ' || CASE WHEN "isNullable" AND ident = 'plants' THEN format('run \`ALTER TABLE %s ADD %I %s\`, which keeps every row without its value, or ', ident, name, type) ELSE '' END || '${RESTORE}'
  FROM cols WHERE attnum IS NULL
  UNION ALL
  SELECT 4, 'unsafe', format('the column %I of %s is of type %s, not %s, so that a value could be changed or refused', name, ident, has_type, type),
    CASE (SELECT typcategory FROM pg_type WHERE oid = atttypid) WHEN (SELECT typcategory FROM pg_type WHERE oid = to_regtype(type))
      THEN format('run \`ALTER TABLE %s ALTER %I TYPE %s\`', ident, name, type)
      ELSE 'put a column of that type with the former values in its place' END
  FROM cols WHERE has_type <> type
  UNION ALL
  SELECT 4, 'unsafe', format('the column %I of %s is generated', name, ident),
    CASE attgenerated WHEN 's' THEN format('run \`ALTER TABLE %s ALTER %I DROP EXPRESSION\`', ident, name)
      ELSE 'put an ordinary column in its place' END
  FROM cols WHERE type IS NOT NULL AND is_generated
  UNION ALL
  SELECT 4, 'unsafe', format('the column %I of %s has no default, which is to number the rows', name, ident), 'put its default and its sequence back'
  FROM cols WHERE is_numbered AND NOT has_value
  UNION ALL
  SELECT 4, 'unsafe', format('the column %I of %s is GENERATED ALWAYS AS IDENTITY', name, ident), format('run \`ALTER TABLE %s ALTER %I DROP IDENTITY\`', ident, name)
  FROM cols WHERE type IS NOT NULL AND is_always_generated AND NOT is_numbered
  UNION ALL
  SELECT 4, 'unsafe', format(CASE WHEN attnotnull THEN 'the column %1$I of %2$s must have a value, which this version does not write'
      ELSE 'the domain %3$s of the column %1$I of %2$s is NOT NULL, and this version writes no value there' END, name, ident, has_type),
    CASE WHEN attnotnull THEN format('run \`ALTER TABLE %s ALTER %I DROP NOT NULL\`', ident, name)
      ELSE format('run \`ALTER TABLE %s ALTER %I TYPE %s\`', ident, name, (SELECT format_type(typbasetype, typtypmod) FROM pg_type WHERE oid = atttypid)) END
  FROM cols WHERE is_required AND NOT is_generated AND CASE WHEN type IS NULL THEN NOT has_value ELSE "isNullable" END
  UNION ALL
  SELECT 6, 'unsafe', format('no valid unique index of %s has its key, %I, alone, so that an id could be stored twice', ident, key),
    format('run \`CREATE UNIQUE INDEX ON %s (%I)\`; if that names an id that is there twice, keep one of the two first', ident, key)
  FROM found WHERE key IS NOT NULL AND relkind IN ('r', 'p') AND NOT EXISTS (
    SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
    WHERE indrelid = found.oid AND attname = key AND indnkeyatts = 1 AND indpred IS NULL
      AND indisunique AND indisvalid AND indimmediate)
  UNION ALL
  SELECT 5, 'unsafe', format('the key of %s is deferrable, so that no repeat could be told from it', ident),
    format('run \`ALTER TABLE %s DROP CONSTRAINT %I\`', ident, conname)
  FROM found JOIN pg_index ON indrelid = found.oid AND indnkeyatts = 1 AND NOT indimmediate
    JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0] AND attname = key JOIN pg_constraint ON conindid = indexrelid
  UNION ALL
  -- A partition keeps its own constraint, under an index of the whole that is not deferrable.
  SELECT 5, 'unsafe', format('the key of the partition %s of %s is deferrable, so that no repeat could be told from it', part.ident, whole),
    format('run \`ALTER TABLE %1$s DETACH PARTITION %2$s; ALTER TABLE %2$s DROP CONSTRAINT %3$I; ALTER TABLE %1$s ATTACH PARTITION %2$s %4$s\`',
      inhparent::regclass, part.ident, conname, pg_get_expr(relpartbound, part.oid))
  FROM parts AS part JOIN found ON found.ident = whole AND found.oid <> part.oid JOIN pg_inherits ON inhrelid = part.oid
    JOIN pg_class ON pg_class.oid = part.oid JOIN pg_index ON indrelid = part.oid AND indnkeyatts = 1 AND NOT indimmediate
    JOIN pg_attribute ON attrelid = part.oid AND attnum = indkey[0] AND attname = key JOIN pg_constraint ON conindid = indexrelid
  UNION ALL
  SELECT 7, 'unsafe', format('the role %I lacks %s on columns of %s', current_user, lacking, ident),
    format('run \`GRANT %s ON %s TO %I\` (docs/operating.md#roles)', lacking, ident, current_user)
  FROM (
    SELECT ident, string_agg(DISTINCT privilege, ', ') AS lacking
    FROM cols, unnest(rights) AS privilege WHERE type IS NOT NULL AND attnum IS NOT NULL
      AND NOT has_column_privilege(attrelid, attnum, privilege)
    GROUP BY ident) AS denied
)
SELECT (SELECT json_agg(problems ORDER BY rank, what) FROM problems) AS problems,
  (SELECT json_agg(sequences) FROM sequences WHERE has_sequence_privilege(sequence, 'SELECT')) AS sequences,
  to_regproc('run_command_on_workers') IS NOT NULL AS has_workers,
  ${mayReadServer ? '(SELECT system_identifier::text FROM pg_control_system())' : 'NULL'} AS server,
  (SELECT oid FROM pg_database WHERE datname = current_database())::text AS database,
  (SELECT json_object_agg(oid::text, json_build_object('name', ident, 'parent', parent)) FROM parts) AS tables`;

/** A generated key and its sequence, with their names quoted. */
export type Sequence = Readonly<{ table: string; key: string; sequence: string }>;

/** Selects a sequence whose next value is no further than its column. */
export function selectBehind({ table, key, sequence }: Sequence): string {
  return `
    SELECT '${sequence}' AS sequence FROM ${sequence}
    WHERE CASE WHEN is_called THEN last_value + 1 ELSE last_value END <= (SELECT max(${key}) FROM ${table})`;
}

/** Lists rules and triggers that an insert fires, of `plants` or a partition of it. One that fires later may change the row too. */
export const LIST_MEDDLERS = `
  WITH parts AS (SELECT to_regclass('plants')::oid AS oid UNION SELECT relid FROM pg_partition_tree(to_regclass('plants')))
  SELECT format('the trigger %I of %s', tgname, tgrelid::regclass) AS name FROM pg_trigger JOIN parts ON tgrelid = parts.oid
  -- The bit 4 of tgtype is ON INSERT (pg_trigger.h).
  WHERE NOT tgisinternal AND tgenabled <> 'D' AND tgtype & 4 = 4
  UNION ALL
  SELECT format('the rule %I of %s', rulename, ev_class::regclass) FROM pg_rewrite JOIN parts ON ev_class = parts.oid
  WHERE ev_type = '3' AND ev_enabled <> 'D'`;
