import { Token } from '../../src/auth/tokens/token.entity.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { defineColumns, remakeTable, type Definitions } from '../../test/support/columns.js';
import { readKinds, type SqlKind } from '../kinds.js';

const AWAY = 'ALTER TABLE plants RENAME TO elsewhere';
const BACK = 'ALTER TABLE elsewhere RENAME TO plants';
const PUT_BACK = `DROP TABLE plants; ${BACK}`;
const KEY = { id: 'bigint PRIMARY KEY NOT NULL' };
const MIGRATION = 'CreateBackups1795600000000';

/** A table with the same rows in the place of that of plants, which is `elsewhere` then. */
const remake = (changed: Definitions = {}) => toLine(remakeTable(Plant, 'elsewhere', changed));
/** An empty one. */
const replace = (changed: Definitions) =>
  toLine(`${AWAY}; CREATE TABLE plants (${defineColumns(Plant, { ...KEY, ...changed })})`);
/** A table with the same rows, and nothing elsewhere. */
const renew = (changed: Definitions = {}) =>
  `${remake({ ...KEY, ...changed })}; DROP TABLE elsewhere`;

/** What could lose, change or refuse a plant. Kinds of the group `schema` make the table of plants anew, or change its columns. */
const HARMFUL = `
the table is renamed | schema | ${AWAY} | ${BACK}
a view in its place | schema | ${AWAY}; CREATE VIEW plants AS SELECT * FROM elsewhere | DROP VIEW plants; ${BACK}
a virtual table in its place | schema | ${AWAY}; CREATE VIRTUAL TABLE plants USING fts5(id) | ${PUT_BACK}
a table of a query | schema takesBack | ${AWAY}; CREATE TABLE plants AS SELECT * FROM elsewhere | ${PUT_BACK}
no key | schema | ${remake()} | ${PUT_BACK}
a key of some rows | schema | ${remake()}; CREATE UNIQUE INDEX i ON plants (id) WHERE tag IS NULL | ${PUT_BACK}
a key of two columns | schema | ${remake()}; CREATE UNIQUE INDEX i ON plants (id, name) | ${PUT_BACK}
an index that is not unique | schema | ${remake()}; CREATE INDEX i ON plants (id) | ${PUT_BACK}
a shorter type | schema takesBack | ${remake({ ...KEY, name: 'varchar(3) NOT NULL' })} | ${PUT_BACK}
a name that is a number if it looks like one | schema takesBack | ${remake({ ...KEY, name: 'numeric NOT NULL' })} | ${PUT_BACK}
a key that is the number of the row | schema takesBack | ${remake({ id: 'integer PRIMARY KEY NOT NULL' })} | ${PUT_BACK}
a tag that must have a value | schema takesBack | ${replace({ tag: "text NOT NULL DEFAULT ''" })} | ${PUT_BACK}
a generated column | schema takesBack | ${replace({ name: "text AS ('elm') NOT NULL" })} | ${PUT_BACK}
a further column that must have a value | schema | ${replace({ width: 'integer NOT NULL' })} | ${PUT_BACK}
a dropped column | schema | ALTER TABLE plants DROP COLUMN created_at | ALTER TABLE plants ADD COLUMN created_at bigint
a renamed column | schema | ALTER TABLE plants RENAME COLUMN tag TO label | ALTER TABLE plants RENAME COLUMN label TO tag
tokens without generated ids | | ${toLine(remakeTable(Token, 'former', { id: 'integer UNIQUE NOT NULL' }))} | DROP TABLE tokens; ALTER TABLE former RENAME TO tokens
no table of backups | | ALTER TABLE backups RENAME TO gone | ALTER TABLE gone RENAME TO backups
a missing migration | | DELETE FROM plant_store_migrations WHERE name = '${MIGRATION}' | INSERT INTO plant_store_migrations (timestamp, name) VALUES (1795600000000, '${MIGRATION}')`;

/** What is the operator's, or changes nothing of what the store is. */
const HARMLESS = `
a further column | schema | ALTER TABLE plants ADD COLUMN height integer | ALTER TABLE plants DROP COLUMN height
a further column with a default | schema | ALTER TABLE plants ADD COLUMN width integer NOT NULL DEFAULT 3 | ALTER TABLE plants DROP COLUMN width
a further generated column | schema | ALTER TABLE plants ADD COLUMN grown AS (id > 0) | ALTER TABLE plants DROP COLUMN grown
the table made anew | schema | ${renew()}
types in capitals | schema | ${renew().replace(/(?<=" )\w+/g, (type) => type.toUpperCase())} | ${renew()}
a constraint | schema | ${renew({ name: 'text NOT NULL CHECK (length(name) > 0)' })} | ${renew()}
a name without regard to case | schema | ${renew({ name: 'text NOT NULL COLLATE NOCASE' })} | ${renew()}
an index | | CREATE INDEX by_name ON plants (name) | DROP INDEX IF EXISTS by_name
a unique index | | CREATE UNIQUE INDEX "a ""name""" ON plants (name, id) | DROP INDEX IF EXISTS "a ""name"""
an index of some rows | | CREATE INDEX tagged ON plants (tag) WHERE tag IS NOT NULL | DROP INDEX IF EXISTS tagged
an index of an expression | | CREATE UNIQUE INDEX lower ON plants (lower(name), id) | DROP INDEX IF EXISTS lower
a foreign key of another table | | CREATE TABLE beds (plant bigint REFERENCES plants (id)) | DROP TABLE IF EXISTS beds
a trigger that notes | | CREATE TABLE notes (id bigint); CREATE TRIGGER note AFTER INSERT ON plants BEGIN INSERT INTO notes VALUES (NEW.id); END | DROP TRIGGER IF EXISTS note; DROP TABLE IF EXISTS notes
a trigger that changes nothing | | CREATE TRIGGER pass BEFORE INSERT ON plants BEGIN SELECT 1; END | DROP TRIGGER IF EXISTS pass
further tables and a view | | CREATE TABLE orders (id integer PRIMARY KEY); CREATE VIEW tagged_plants AS SELECT id FROM plants | DROP VIEW IF EXISTS tagged_plants; DROP TABLE IF EXISTS orders
a full-text index | | CREATE VIRTUAL TABLE words USING fts5(name); INSERT INTO words SELECT name FROM plants LIMIT 500 | DROP TABLE IF EXISTS words
a migration of a newer version | | INSERT INTO plant_store_migrations (timestamp, name) VALUES (2000000000000, 'AddNote2000000000000') | DELETE FROM plant_store_migrations WHERE timestamp = 2000000000000
the table is renamed and back | | ${AWAY}; ${BACK}
\`ANALYZE\` | | ANALYZE
\`REINDEX\` | | REINDEX
\`user_version\` | | PRAGMA user_version = 7 | PRAGMA user_version = 0`;

/** In one transaction each. */
export const KINDS: readonly SqlKind[] = [
  ...readKinds(HARMFUL, true),
  ...readKinds(HARMLESS, false),
].map((kind) => ({
  ...kind,
  make: inOne(kind.make),
  undo: kind.undo === undefined ? undefined : inOne(kind.undo),
}));

/** What no transaction can have. */
export const PRAGMAS: readonly SqlKind[] = readKinds(
  `
\`VACUUM\` | | VACUUM
\`auto_vacuum\` | | PRAGMA auto_vacuum = FULL; VACUUM | PRAGMA auto_vacuum = NONE; VACUUM
another size of pages | | PRAGMA page_size = 8192; VACUUM
a checkpoint | | PRAGMA wal_checkpoint(PASSIVE)
a checkpoint that starts the log over | | PRAGMA wal_checkpoint(RESTART)
a checkpoint that cuts the log | | PRAGMA wal_checkpoint(TRUNCATE)`,
  false,
);

function toLine(sql: string): string {
  return sql.trim().replace(/\s+/g, ' ');
}

function inOne(sql: string): string {
  return `BEGIN IMMEDIATE; ${sql}; COMMIT`;
}
