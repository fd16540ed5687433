import { readKinds, type SqlKind } from '../kinds.js';
import { KEY, ROLE, TABLES } from './operators.js';

const COLUMNS =
  'id bigint NOT NULL, name text NOT NULL, tag text, created_by text, created_at bigint';
const AWAY = 'ALTER TABLE $P RENAME TO elsewhere';
const BACK = 'ALTER TABLE $P RENAME TO plants';
/** Commits first, so that no session begins meanwhile without what was changed before it in the same query. */
export const CUT = `COMMIT; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${ROLE}'`;
const own = (name: string) => `ALTER TABLE ${name} OWNER TO ${ROLE}`;
const makeStore = (schema: string) =>
  TABLES.map((name) => `CREATE TABLE ${schema}.${name} (LIKE public.${name} INCLUDING ALL)`).join(
    '; ',
  );

// `$P` is the table of plants, whatever its name is by then. Only partitioned stores have kinds of the group `parts`, and only
// others those of `whole`; in `part` is what would do no harm to a partition.

/** What could lose, change or refuse a plant, or serve another store. */
const HARMFUL = `
the table is renamed |  | ${AWAY} | ${BACK}
a view in its place |  | ${AWAY}; CREATE VIEW plants AS SELECT * FROM elsewhere; ${own('plants')} | DROP VIEW plants; ${BACK}
a materialized view in its place |  | ${AWAY}; CREATE MATERIALIZED VIEW plants AS SELECT * FROM elsewhere; ${own('plants')} | DROP MATERIALIZED VIEW plants; ${BACK}
a foreign table in its place |  | ${AWAY}; CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER nothing FOREIGN DATA WRAPPER nothing; CREATE FOREIGN TABLE plants (${COLUMNS}) SERVER nothing; ${own('plants')} | DROP FOREIGN DATA WRAPPER nothing CASCADE; ${BACK}
a copy in its place | whole takesBack | LOCK TABLE $P IN ACCESS EXCLUSIVE MODE; CREATE TABLE copy (LIKE $P INCLUDING ALL); ${own('copy')}; INSERT INTO copy SELECT * FROM $P; ${AWAY}; ALTER TABLE copy RENAME TO plants | DROP TABLE plants; ${BACK}
the table is in another schema | part | CREATE SCHEMA app; ALTER TABLE $P SET SCHEMA app | ALTER TABLE $P SET SCHEMA public; DROP SCHEMA app
the schema is renamed |  | ALTER SCHEMA public RENAME TO other | ALTER SCHEMA other RENAME TO public
an empty store in a schema that comes first | takesBack | CREATE SCHEMA AUTHORIZATION ${ROLE}; SET ROLE ${ROLE}; ${makeStore(ROLE)}; INSERT INTO ${ROLE}.plant_store_migrations SELECT * FROM public.plant_store_migrations; RESET ROLE | DROP SCHEMA ${ROLE} CASCADE
an empty schema that comes first |  | CREATE SCHEMA AUTHORIZATION ${ROLE} | DROP SCHEMA ${ROLE}
a second store in another schema |  | CREATE SCHEMA second; GRANT USAGE ON SCHEMA second TO ${ROLE}; ${makeStore('second')} | DROP SCHEMA second CASCADE
an unlogged table | whole | ALTER TABLE $P SET UNLOGGED | ALTER TABLE $P SET LOGGED
an unlogged table of tokens |  | ALTER TABLE tokens SET UNLOGGED | ALTER TABLE tokens SET LOGGED
a table that inherits, with the same rows | whole | CREATE TABLE child () INHERITS ($P); INSERT INTO child SELECT * FROM ONLY $P | DROP TABLE child
a dropped column |  | ALTER TABLE $P DROP created_at | ALTER TABLE $P ADD created_at bigint
a renamed column |  | ALTER TABLE $P RENAME tag TO label | ALTER TABLE $P RENAME label TO tag
a shorter type |  | ALTER TABLE $P ALTER name TYPE varchar(20000) | ALTER TABLE $P ALTER name TYPE text
a numeric key | whole | ALTER TABLE $P ALTER id TYPE numeric | ALTER TABLE $P ALTER id TYPE bigint
a column of ours that must have a value | part | ALTER TABLE $P ALTER created_by SET NOT NULL | ALTER TABLE $P ALTER created_by DROP NOT NULL
a further column that must have a value |  | ALTER TABLE $P ADD soil text NOT NULL DEFAULT ''; ALTER TABLE $P ALTER soil DROP DEFAULT | ALTER TABLE $P DROP soil
a further column of a domain that is not null |  | CREATE DOMAIN given AS text NOT NULL; ALTER TABLE $P ADD light given DEFAULT ''; ALTER TABLE $P ALTER light DROP DEFAULT | ALTER TABLE $P DROP light; DROP DOMAIN given
a generated column |  | ALTER TABLE $P RENAME tag TO former; ALTER TABLE $P ADD tag text GENERATED ALWAYS AS (former) STORED | ALTER TABLE $P DROP tag; ALTER TABLE $P RENAME former TO tag
a key that is always generated |  | ALTER TABLE $P ALTER id ADD GENERATED ALWAYS AS IDENTITY | ALTER TABLE $P ALTER id DROP IDENTITY
no key | key | ALTER TABLE $P DROP CONSTRAINT ${KEY} | ALTER TABLE $P ADD CONSTRAINT ${KEY} PRIMARY KEY (id)
a deferrable key | key | ALTER TABLE $P DROP CONSTRAINT ${KEY}, ADD CONSTRAINT ${KEY} PRIMARY KEY (id) DEFERRABLE | ALTER TABLE $P DROP CONSTRAINT ${KEY}, ADD CONSTRAINT ${KEY} PRIMARY KEY (id)
a key of some rows | key whole | ALTER TABLE $P DROP CONSTRAINT ${KEY}; CREATE UNIQUE INDEX partial_key ON $P (id) WHERE id > 0 | DROP INDEX partial_key; ALTER TABLE $P ADD CONSTRAINT ${KEY} PRIMARY KEY (id)
a key that is not valid | key | UPDATE pg_index SET indisvalid = false WHERE indexrelid = '${KEY}'::regclass | UPDATE pg_index SET indisvalid = true WHERE indexrelid = '${KEY}'::regclass
row-level security | rls | ALTER TABLE $P ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY | ALTER TABLE $P DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY
a policy that hides half of the plants | rls | CREATE POLICY half ON $P USING (id % 2 = 0) WITH CHECK (true); ALTER TABLE $P ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY | ALTER TABLE $P DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY; DROP POLICY half ON $P
row-level security of tokens | rls | ALTER TABLE tokens ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY | ALTER TABLE tokens DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY
a rule on INSERT | part | CREATE RULE note AS ON INSERT TO $P DO ALSO NOTIFY plants; ALTER TABLE $P ENABLE ALWAYS RULE note | DROP RULE note ON $P
no table of backups |  | ALTER TABLE backups RENAME TO former | ALTER TABLE former RENAME TO backups
a missing migration |  | DELETE FROM plant_store_migrations WHERE name LIKE 'CreateBackups%' | INSERT INTO plant_store_migrations (timestamp, name) VALUES (1795600000000, 'CreateBackups1795600000000')
a sequence behind its rows |  | SELECT setval('tokens_id_seq', 1, false) | SELECT setval('tokens_id_seq', max(id)) FROM tokens
no right to insert | rights | REVOKE INSERT ON $P FROM ${ROLE} | GRANT INSERT ON $P TO ${ROLE}
a right to insert some columns | rights | REVOKE INSERT ON $P FROM ${ROLE}; GRANT INSERT (id, name) ON $P TO ${ROLE} | GRANT INSERT ON $P TO ${ROLE}
no right to read plants | rights | REVOKE SELECT ON $P FROM ${ROLE} | GRANT SELECT ON $P TO ${ROLE}
no right to read tokens | rights | REVOKE SELECT ON tokens FROM ${ROLE} | GRANT SELECT ON tokens TO ${ROLE}
no right to update tokens | rights | REVOKE UPDATE ON tokens FROM ${ROLE} | GRANT UPDATE ON tokens TO ${ROLE}
no right to use the schema | rights | REVOKE ALL ON SCHEMA public FROM PUBLIC, ${ROLE} | GRANT USAGE ON SCHEMA public TO PUBLIC; GRANT CREATE ON SCHEMA public TO ${ROLE}
another owner | rights rls | ALTER TABLE $P OWNER TO postgres | ${own('$P')}
no right to connect | rights | REVOKE CONNECT ON DATABASE postgres FROM PUBLIC; ${CUT} | GRANT CONNECT ON DATABASE postgres TO PUBLIC
\`NOLOGIN\` |  | ALTER ROLE ${ROLE} NOLOGIN; ${CUT} | ALTER ROLE ${ROLE} LOGIN
an unlogged partition | parts | ALTER TABLE positive SET UNLOGGED | ALTER TABLE positive SET LOGGED
a detached partition | parts | ALTER TABLE $P DETACH PARTITION positive | ALTER TABLE $P ATTACH PARTITION positive FOR VALUES FROM (0) TO (9223372036854775807)
a partition that is a foreign table | key parts | CREATE FOREIGN DATA WRAPPER none; CREATE SERVER none FOREIGN DATA WRAPPER none; CREATE FOREIGN TABLE far (${COLUMNS}) SERVER none; ALTER TABLE $P DROP CONSTRAINT ${KEY}; ALTER TABLE $P ATTACH PARTITION far DEFAULT | DROP FOREIGN DATA WRAPPER none CASCADE; ALTER TABLE $P ADD CONSTRAINT ${KEY} PRIMARY KEY (id)`;

/** What is the operator's, or changes nothing of what the store is. */
const HARMLESS = `
a further column |  | ALTER TABLE $P ADD height int | ALTER TABLE $P DROP height
a further column with a default |  | ALTER TABLE $P ADD width int NOT NULL DEFAULT 1 | ALTER TABLE $P DROP width
a further column, the table made anew |  | ALTER TABLE $P ADD seen timestamptz NOT NULL DEFAULT clock_timestamp() | ALTER TABLE $P DROP seen
a further generated column |  | ALTER TABLE $P ADD grown boolean GENERATED ALWAYS AS (id > 0) STORED | ALTER TABLE $P DROP grown
a default of ours |  | ALTER TABLE $P ALTER tag SET DEFAULT 'x' | ALTER TABLE $P ALTER tag DROP DEFAULT
a key that may be generated |  | ALTER TABLE $P ALTER id ADD GENERATED BY DEFAULT AS IDENTITY | ALTER TABLE $P ALTER id DROP IDENTITY
another collation |  | ALTER TABLE $P ALTER tag TYPE text COLLATE "POSIX" | ALTER TABLE $P ALTER tag TYPE text COLLATE "default"
an index |  | CREATE INDEX by_time ON $P (created_at) | DROP INDEX IF EXISTS by_time
an index of some rows |  | CREATE INDEX tagged ON $P (tag) WHERE tag IS NOT NULL | DROP INDEX IF EXISTS tagged
a second unique index of the key | key | CREATE UNIQUE INDEX second_key ON $P (id) | DROP INDEX IF EXISTS second_key
a constraint |  | ALTER TABLE $P ADD CONSTRAINT named CHECK (length(name) > 0) | ALTER TABLE $P DROP CONSTRAINT named
a foreign key of another table |  | CREATE TABLE beds (plant bigint REFERENCES $P (id)) | DROP TABLE beds
a table that it inherits from | whole | CREATE TABLE things (id bigint NOT NULL); ALTER TABLE $P INHERIT things | ALTER TABLE $P NO INHERIT things; DROP TABLE things
a trigger that notes |  | CREATE TABLE notes (id bigint); CREATE FUNCTION note() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.notes VALUES (NEW.id); RETURN NULL; END $$; CREATE TRIGGER note AFTER INSERT ON $P FOR EACH ROW EXECUTE FUNCTION note() | DROP FUNCTION note CASCADE; DROP TABLE notes
a trigger that changes nothing |  | CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$; CREATE TRIGGER pass BEFORE INSERT ON $P FOR EACH ROW EXECUTE FUNCTION pass() | DROP FUNCTION pass CASCADE
a rule on DELETE |  | CREATE RULE kept AS ON DELETE TO $P DO ALSO NOTIFY plants | DROP RULE kept ON $P
row-level security, not for the owner | rls | ALTER TABLE $P ENABLE ROW LEVEL SECURITY | ALTER TABLE $P DISABLE ROW LEVEL SECURITY
a second store that the role may not use | rights | CREATE SCHEMA secret; ${makeStore('secret')} | DROP SCHEMA secret CASCADE
a schema with other tables |  | CREATE SCHEMA shop; GRANT USAGE ON SCHEMA shop TO ${ROLE}; CREATE TABLE shop.plants (id uuid); CREATE TABLE shop.tokens (id uuid) | DROP SCHEMA shop CASCADE
further tables and a view |  | CREATE TABLE orders (id int); CREATE VIEW tagged_plants AS SELECT id FROM $P | DROP VIEW tagged_plants; DROP TABLE orders
another owner, and the rights | rights rls | ALTER TABLE $P OWNER TO postgres; GRANT SELECT, INSERT ON $P TO ${ROLE} | ${own('$P')}
fewer rights | rights | REVOKE DELETE, UPDATE, TRUNCATE ON $P FROM ${ROLE}; REVOKE CREATE ON SCHEMA public FROM ${ROLE} | GRANT ALL ON $P TO ${ROLE}; GRANT CREATE ON SCHEMA public TO ${ROLE}
no right to read the identifier | server | REVOKE EXECUTE ON FUNCTION pg_control_system FROM PUBLIC | GRANT EXECUTE ON FUNCTION pg_control_system TO PUBLIC
\`BYPASSRLS\` | rls | ALTER ROLE ${ROLE} BYPASSRLS | ALTER ROLE ${ROLE} NOBYPASSRLS
\`SUPERUSER\` | rights rls | ALTER ROLE ${ROLE} SUPERUSER | ALTER ROLE ${ROLE} NOSUPERUSER
a role that it is a member of |  | CREATE ROLE gardeners; GRANT gardeners TO ${ROLE} | DROP ROLE gardeners
a publication, and whole rows for it |  | CREATE PUBLICATION copies FOR TABLE $P; ALTER TABLE $P REPLICA IDENTITY FULL | DROP PUBLICATION copies; ALTER TABLE $P REPLICA IDENTITY DEFAULT
statistics and a comment |  | CREATE STATISTICS pairs ON name, tag FROM $P; COMMENT ON TABLE $P IS 'ours' | DROP STATISTICS IF EXISTS pairs; COMMENT ON TABLE $P IS NULL
a partitioned table in its place, whose part it is | whole part rights rls key | ${AWAY}; CREATE TABLE plants (LIKE elsewhere INCLUDING ALL) PARTITION BY RANGE (id); ${own('plants')}; ALTER TABLE plants ATTACH PARTITION elsewhere DEFAULT | ALTER TABLE plants DETACH PARTITION $P; DROP TABLE plants; ${BACK}
a lock of the table for a second |  | LOCK TABLE $P IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(1)
the table is renamed and back |  | ${AWAY}; ALTER TABLE elsewhere RENAME TO plants
\`VACUUM FULL\` |  | VACUUM FULL $P
\`REINDEX\` |  | REINDEX TABLE $P
a sequence ahead of its rows |  | SELECT setval('tokens_id_seq', 1000)
a renamed partition | parts | ALTER TABLE positive RENAME TO later | ALTER TABLE later RENAME TO positive
a partition in another schema | parts | CREATE SCHEMA parts; GRANT USAGE ON SCHEMA parts TO ${ROLE}; ALTER TABLE negative SET SCHEMA parts | ALTER TABLE parts.negative SET SCHEMA public; DROP SCHEMA parts
a further partition | parts | CREATE TABLE rest PARTITION OF $P DEFAULT | DROP TABLE rest`;

export const KINDS: readonly SqlKind[] = [
  ...readKinds(HARMFUL, true),
  ...readKinds(HARMLESS, false),
];

type Setting = readonly [name: string, value: string, isHarmful?: boolean];

const ANY: readonly Setting[] = [
  ['synchronous_commit', 'off'],
  ['client_min_messages', 'error'],
  ['work_mem', "'64kB'"],
  ['statement_timeout', "'10s'"],
  ['session_replication_role', 'replica'],
  ['standard_conforming_strings', 'off'],
  ['timezone', "'Asia/Kathmandu'"],
  ['quote_all_identifiers', 'on'],
  ['array_nulls', 'off'],
  ['enable_indexscan', 'off'],
];

export const SETTINGS: readonly Setting[] = [
  ...ANY,
  ['client_encoding', 'LATIN1'],
  ['idle_in_transaction_session_timeout', "'1s'"],
  ['default_transaction_deferrable', 'on'],
  ['fsync', 'off', true],
  ['full_page_writes', 'off', true],
  ['default_transaction_isolation', 'serializable', true],
  ['default_transaction_read_only', 'on', true],
  ['search_path', 'nowhere', true],
];

export const ROLE_SETTINGS: readonly Setting[] = [
  ...ANY,
  ['datestyle', 'German'],
  ['row_security', 'off'],
  ['default_transaction_isolation', "'repeatable read'", true],
  ['default_transaction_read_only', 'on', true],
  ['search_path', 'nowhere', true],
];
