import { defaults } from 'pg';
import { findUser } from '../../config/environment.js';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { Logger, readCode, type Engine } from '../engine.js';
import { isUnavailable, toStoreError } from '../store-errors.js';
import { CheckedPool, MAX_SESSIONS } from './pool.js';
import { postgresReader } from './reader.js';
import { assertSafe, PostgresWriter, READ_SETTINGS, type Settings } from './writer.js';

/** Names the advisory lock under which migrations run: "plant" in ASCII. */
const MIGRATION_LOCK = 0x70_6c_61_6e_74;

/** Codes of a refused name, password, database or table: another try would be refused too. */
const REFUSED = /^(28|3D|42P01)/;

/** Texts of the driver's errors for a broken connection, which have no code (brianc/node-postgres#2780). */
const CONNECTION_LOST =
  /^(timeout exceeded when trying to connect|Connection terminated|timeout expired)/;

/** PostgreSQL, on one server or on many: nothing here that a connection pooler or Citus lacks. */
export const postgres: Engine = {
  reader: postgresReader,
  // The lock is the transaction's, so that it works through a pooler. Citus passes the next setting on to its workers. A
  // change of a table that waits for a dump makes plants wait, so it gives up before their requests do.
  beginMigration: `
    BEGIN;
    SELECT pg_advisory_xact_lock(${String(MIGRATION_LOCK)});
    SET LOCAL citus.propagate_set_commands = 'local';
    SET LOCAL lock_timeout = '1s'`,
  findTables: 'SELECT FROM pg_tables WHERE schemaname = current_schema() LIMIT 1',

  connect(config, access) {
    const timeoutMs = config.statementTimeoutMs;
    // As PostgreSQL's own clients do where neither the address nor the environment names a user.
    defaults.user ??= findUser();
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

  async assertDurable(store) {
    assertSafe(await store.query<Settings[]>(READ_SETTINGS), Error);
  },

  isUnavailableAtStart(error) {
    const reason = toStoreError(error);
    if (!(reason instanceof StoreUnavailableException)) return false;
    const { cause } = reason;
    // Without a cause it is a warning that a commit did not wait.
    if (!Error.isError(cause) || CONNECTION_LOST.test(cause.message)) return true;
    return isUnavailable(cause) && !REFUSED.test(readCode(cause));
  },
};
