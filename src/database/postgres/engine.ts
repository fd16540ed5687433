import { defaults } from 'pg';
import { describeUser } from '../../config/config.js';
import { Logger, type Access, type Engine } from '../engine.js';
import { LIST } from '../schema.js';
import { CheckedPool, MAX_SESSIONS } from './pool.js';
import { postgresReader } from './reader.js';
import { assertSafe, PostgresWriter, READ_SETTINGS, type Settings } from './writer.js';

/** The rights on tables that each access needs (docs/operating.md#roles). */
const RIGHTS: Readonly<Record<Access, Readonly<Record<string, string>>>> = {
  serve: { plants: 'SELECT INSERT', tokens: 'SELECT UPDATE', backups: 'SELECT', [LIST]: 'SELECT' },
  create: { plants: 'SELECT INSERT', tokens: 'SELECT INSERT', [LIST]: 'SELECT' },
  fill: { plants: 'SELECT INSERT', tokens: 'SELECT INSERT', [LIST]: 'SELECT' },
  tokens: { tokens: 'SELECT INSERT UPDATE', [LIST]: 'SELECT' },
  backups: { backups: 'SELECT INSERT UPDATE', [LIST]: 'SELECT' },
  read: { plants: 'SELECT', tokens: 'SELECT', [LIST]: 'SELECT' },
};

/** PostgreSQL, on one server or on many: nothing here that a connection pooler or Citus lacks. */
export const postgres: Engine = {
  reader: postgresReader,
  // The lock, "plant" in ASCII, is the transaction's, so that it works through a pooler. Citus passes the next setting on to
  // its workers. A change of a table that waits for a dump makes plants wait, so it gives up before their requests do.
  beginMigration: `
    BEGIN;
    SELECT pg_advisory_xact_lock(482854661748);
    SET LOCAL citus.propagate_set_commands = 'local';
    SET LOCAL lock_timeout = '1s'`,
  // The catalog: information_schema hides the tables on which the role has no right.
  listColumns: `
    SELECT relname || '.' || attname AS name FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = current_schema() AND relkind IN ('r', 'p', 'v') AND attnum > 0 AND NOT attisdropped`,

  connect(config, access) {
    const timeoutMs = config.statementTimeoutMs;
    // As PostgreSQL's own clients do where neither the address nor the environment names a user.
    defaults.user ??= describeUser();
    return {
      type: 'postgres',
      driver: { Pool: CheckedPool },
      url: config.databaseUrl,
      applicationName: 'plant-store',
      poolSize: MAX_SESSIONS,
      connectTimeoutMS: timeoutMs,
      installExtensions: false,
      // An idle connection broke: the pool has dropped it already.
      poolErrorHandler: (error: Error) => new Logger('Store').debug(error.message),
      extra: {
        // Reading a whole store takes as long as it takes.
        statementTimeoutMs: access === 'read' ? undefined : timeoutMs,
        keepAlive: true,
      },
    };
  },

  openWriter: (store) => new PostgresWriter(store.manager),

  async assertUsable(store, access) {
    const needed = Object.entries(RIGHTS[access]).flatMap(([table, rights]) =>
      rights.split(' ').map((right) => `('${table}', '${right}')`),
    );
    const lacking = await store.query<{ name: string }[]>(`
      SELECT need || ' on ' || name AS name FROM (VALUES ${needed.join()}) AS needed (name, need)
      WHERE NOT has_table_privilege(to_regclass(name), need)
      UNION ALL SELECT 'USAGE on a schema of its search_path' WHERE current_schema() IS NULL`);
    if (lacking.length > 0) {
      const names = lacking.map(({ name }) => name).join(', ');
      const advice = 'use the role that owns the tables, or grant it (docs/operating.md#roles)';
      throw new Error(`its role lacks ${names}: ${advice}`);
    }
    if (access !== 'read') assertSafe(await store.query<Settings[]>(READ_SETTINGS), Error);
  },
};
