// Common table expressions that read what inspection.ts needs of the catalog, PostgreSQL's own tables. They wait for no lock of
// a table: an inspection must not seem late because somebody alters one.
import { MIGRATIONS_TABLE } from '../tables.js';

/** The columns of plants of every version, by which a store is told from another program's tables. */
const COLUMNS_OF_PLANTS = ['id', 'name', 'tag', 'created_by', 'created_at'];
const names = COLUMNS_OF_PLANTS.map((name) => `'${name}'`).join();

/** How many tables there are, and how many columns one has at most. */
export type Size = Readonly<{ tables: number; columns: number }>;

/**
 * Reads `place`, where the store is; `found`, its tables; `parts`, these and their partitions; `cols`, the columns that they
 * have and those that they must have; `sequences`, those of generated keys; `others`, the tables of the same schema that are not
 * the store's, but have all columns of one of its tables: each may be the former one, renamed, but for `migrations`, the list of
 * 1.0.0, which other programs have too.
 */
export const readCatalog = ({ tables, columns }: Size): string => `
-- LIMIT tells the planner how few rows there are: for more it would compile the statement each time (jit_above_cost).
WITH RECURSIVE wanted AS (
  SELECT * FROM jsonb_to_recordset($1::jsonb)
    AS wanted (name text, key text, "isGenerated" boolean, columns jsonb, rights text[]) LIMIT ${tables}
),
path AS (
  SELECT CASE item[1] WHEN '$user' THEN current_user ELSE coalesce(item[1], item[2]) END AS name
  FROM regexp_matches(current_setting('search_path'), '"([^"]+)"|([^\\s",]+)', 'g') AS item LIMIT 10
),
-- A schema that the role may not use counts all the same, if search_path names it.
stores AS (
  SELECT nspname AS name, has_schema_privilege(pg_namespace.oid, 'USAGE') AS is_usable
  FROM pg_class AS plants JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE relname = 'plants' AND (has_schema_privilege(pg_namespace.oid, 'USAGE') OR nspname IN (SELECT name FROM path))
    AND ${COLUMNS_OF_PLANTS.length} = (
      SELECT count(*) FROM pg_attribute
      WHERE attrelid = plants.oid AND attname IN (${names}) AND NOT attisdropped)
    AND EXISTS (
      SELECT FROM pg_class AS list WHERE list.relnamespace = plants.relnamespace
        AND list.relname IN ('${MIGRATIONS_TABLE}', 'migrations'))
),
-- The tables of a schema without a store, or without a list of migrations, are another program's, and not inspected.
place AS (
  SELECT current_schema() AS first, to_regclass(quote_ident(current_schema()) || '.${MIGRATIONS_TABLE}') IS NOT NULL
      OR current_schema() IN (SELECT name FROM stores) AS has_store,
    (SELECT name FROM stores ORDER BY is_usable, name LIMIT 1) AS other,
    (SELECT name FROM stores WHERE NOT is_usable LIMIT 1) AS forbidden
),
found AS (
  SELECT wanted.*, oid, relkind, quote_ident(name) AS ident
  FROM place JOIN wanted ON has_store OR $2
  LEFT JOIN pg_class ON relname = name AND relnamespace = to_regnamespace(quote_ident(first))
),
-- pg_partition_tree() would wait for locks on partitions.
tree (whole, parent, oid, kind) AS (
  SELECT ident, NULL::oid, oid, relkind FROM found WHERE oid IS NOT NULL
  UNION
  SELECT whole, tree.oid, part.oid, part.relkind
  FROM tree JOIN pg_inherits ON inhparent = tree.oid JOIN pg_class AS part ON part.oid = inhrelid WHERE kind = 'p'
),
parts AS (
  SELECT whole, parent::regclass::text AS parent, tree.oid, tree.oid::regclass::text AS ident, relkind, relpersistence
  FROM tree JOIN pg_class ON pg_class.oid = tree.oid
),
named AS (
  SELECT found.ident, found.oid, found.rights, named.*
  FROM found, LATERAL (
    SELECT * FROM jsonb_to_recordset(columns) AS named (name text, type text, "isNullable" boolean) LIMIT ${columns}) AS named
  WHERE found.oid IS NOT NULL
),
cols AS (
  SELECT coalesce(found.ident, named.ident) AS ident, found.rights, coalesce(attname, named.name) AS name, named.type, "isNullable",
    -- quote_all_identifiers quotes names of types, too.
    translate(format_type(atttypid, atttypmod), '"', '') AS has_type, atttypid, attnum, attrelid, attnotnull, attgenerated,
    attnotnull OR coalesce(typnotnull, false) AS is_required,
    attgenerated <> '' AS is_generated, attidentity = 'a' AS is_always_generated, "isGenerated" AND attname = key AS is_numbered,
    -- A domain may have a default.
    atthasdef OR attidentity <> '' OR (named.type IS NULL AND typdefault IS NOT NULL) AS has_value
  FROM found
  -- OFFSET keeps the planner from reading the columns of all tables.
  CROSS JOIN LATERAL (SELECT * FROM pg_attribute WHERE attrelid = found.oid AND attnum > 0 AND NOT attisdropped OFFSET 0) AS held
  FULL JOIN named ON named.oid = attrelid AND named.name = attname
  LEFT JOIN pg_type ON pg_type.oid = atttypid
),
others AS (
  SELECT found.ident, quote_ident(relname) AS other
  FROM found JOIN place ON true JOIN pg_class AS list ON relnamespace = to_regnamespace(quote_ident(first))
  WHERE list.relkind IN ('r', 'p') AND NOT relispartition AND relname NOT IN (SELECT name FROM wanted) AND relname <> 'migrations' AND NOT EXISTS (
    SELECT FROM jsonb_to_recordset(columns) AS named (name text)
    WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = list.oid AND attname = named.name AND NOT attisdropped))
),
sequences AS (
  SELECT ident AS "table", quote_ident(key) AS key, CASE WHEN relkind IN ('r', 'p')
    AND EXISTS (SELECT FROM cols WHERE attrelid = found.oid AND name = key) THEN pg_get_serial_sequence(ident, key) END AS sequence
  FROM found WHERE "isGenerated" AND has_table_privilege(oid, 'SELECT')
),`;
