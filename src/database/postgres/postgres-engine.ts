import { setTimeout as sleep } from 'node:timers/promises';
import { escapeLiteral, type Client, type PoolConfig } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { DataSource, QueryRunner } from 'typeorm';
import { readCode } from '../../errors/operator-message.js';
import type { Column } from '../column-types.js';
import { Logger, type Engine } from '../engine.js';
import { CheckedPool, type CheckedPoolConfig } from './pool.js';
import { MIGRATIONS_TABLE } from '../tables.js';
import { LIST_MEDDLERS } from './inspection.js';
import { PostgresInspector } from './inspector.js';
import type { Session } from './session.js';
import { SET_LEVEL, statements } from './statements.js';
import { PostgresWriter } from './writer.js';

/** The names of the prepared transactions of each node of Citus, as a JSON array. */
const PREPARED = `
  SELECT success, result FROM run_command_on_all_nodes($$
    SELECT coalesce(json_agg(gid), '[]') FROM pg_prepared_xacts
    WHERE database = current_database() AND gid LIKE 'citus%' $$)`;
const PREPARED_POLL_MS = 200;

/** PostgreSQL, on one server or on many: nothing here that a connection pooler or Citus lacks. */
export const postgres: Engine = {
  statements,
  isShared: true,
  // The lock is "plant" in ASCII. A change of a table that waits for a dump makes plants wait: it gives up before them.
  beginMigration: `
    BEGIN;
    SELECT pg_advisory_xact_lock(482854661748);
    SET LOCAL row_security = off;
    SET LOCAL citus.propagate_set_commands = 'local';
    SET LOCAL lock_timeout = '1s'`,
  // The catalog: information_schema hides the tables on which the role has no right.
  listColumns: `
    SELECT relname || '.' || attname AS name FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = current_schema() AND relkind IN ('r', 'p', 'v') AND attnum > 0 AND NOT attisdropped`,

  // Without those of extensions, and parts of others.
  listTables: `
    SELECT relname AS name FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = current_schema() AND relkind IN ('r', 'p') AND NOT relispartition
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')`,

  connect(config, access) {
    const timeoutMs = config.statementTimeoutMs;
    return {
      type: 'postgres',
      driver: { Pool: CheckedPool },
      url: config.databaseUrl,
      applicationName: 'plant-store',
      connectTimeoutMS: timeoutMs,
      installExtensions: false,
      // An idle connection broke: the pool has dropped it already.
      poolErrorHandler: (error: Error) => new Logger('Store').debug(error.message),
      extra: {
        statementTimeoutMs: timeoutMs,
        keepAlive: true,
        inspector: new PostgresInspector(access),
      } satisfies PoolConfig & CheckedPoolConfig,
    };
  },

  openWriter(store) {
    const inspector = getInspector(store);
    inspector.keepIdentity();
    return new PostgresWriter(store, inspector);
  },

  inspect: (store, _access, manager) => getInspector(store).inspect(store, manager),

  listMeddlers: LIST_MEDDLERS,

  // A session that itself waits for such a lock keeps out those that come later, too.
  listLockers: ({ entityMetadatas }) => `
    SELECT format('%s is locked by another session: wait, or end it by \`SELECT pg_terminate_backend(%s)\`',
      relation::regclass, pid) AS name
    FROM pg_locks JOIN pg_class ON pg_class.oid = relation
    JOIN pg_class AS whole ON whole.oid = coalesce(pg_partition_root(relation), relation)
    WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND whole.relname IN (${[...entityMetadatas.map(({ tableName }) => tableName), MIGRATIONS_TABLE].map(escapeLiteral).join()})
      AND whole.relnamespace = to_regnamespace(quote_ident(current_schema())) AND pg_class.relkind IN ('r', 'p')
      AND mode = 'AccessExclusiveLock' AND pid IS NOT NULL
    ORDER BY NOT granted LIMIT 1`,

  // A snapshot is taken once no table is being rewritten: in an earlier one such a table is empty. What is filled sees what was
  // committed before it was locked. Reading a whole store takes as long as it takes, but for locks. Servers older than 17 have
  // no `transaction_timeout`.
  async begin(runner, access, timeoutMs, tables) {
    await awaitPrepared(runner, timeoutMs);
    const names = tables.map(({ name }) => `"${name}"`).join();
    if (access === 'read') ((await runner.connect()) as Session).timeoutMs = undefined;
    await runner.query(`
      BEGIN ISOLATION LEVEL ${access === 'fill' ? 'READ COMMITTED' : 'REPEATABLE READ'};
      SET LOCAL row_security = off;
      SET LOCAL statement_timeout = 0;
      SET LOCAL lock_timeout = ${timeoutMs};
      SET LOCAL idle_in_transaction_session_timeout = 0;
      LOCK TABLE ${names} IN ACCESS SHARE MODE;
      SELECT ${SET_LEVEL};
      SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'`);
    if (access === 'fill') await lockTables(runner, names);
  },

  // The format escapes nothing: JSON has no control characters. If it is left early, the driver destroys the connection.
  async *readLines(runner, { table, columns, form, only }) {
    const line =
      form === 'array'
        ? `array_to_json(ARRAY[${columns.map(toText).join()}])`
        : `json_strip_nulls(json_build_object(${columns.map(({ field, name }) => `'${field}', "${name}"`).join()}))`;
    // Texts are ordered by code points, as SQLite orders them.
    const order = `"${table.key.name}"${table.key.type === 'text' ? ' COLLATE "C"' : ''}`;
    // COPY takes no parameters.
    const filter = only ? `WHERE "${only.column}" = ${escapeLiteral(only.text)}` : '';
    const client = (await runner.connect()) as Client;
    yield* client.query(
      copyTo(`COPY (SELECT ${line} FROM "${table.name}" ${filter} ORDER BY ${order}) TO STDOUT
        (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')`),
    ) as AsyncIterable<Buffer>;
  },
};

function getInspector({ options }: DataSource): PostgresInspector {
  return (options.extra as CheckedPoolConfig).inspector;
}

function toText({ name, type }: Column): string {
  return type === 'boolean' ? `"${name}"::int::text` : `"${name}"::text`;
}

/** Others may read, or wait. A VACUUM that the server has begun by itself gives way after `deadlock_timeout`, a second. */
async function lockTables(runner: QueryRunner, names: string): Promise<void> {
  try {
    await runner.query(`
      SET LOCAL lock_timeout = '1500ms';
      LOCK TABLE ${names} IN SHARE ROW EXCLUSIVE MODE`);
  } catch (cause) {
    if (readCode(cause) !== '55P03') throw cause;
    const others = 'another process writes to it, such as a service or another restore';
    throw new Error(`${others}: stop that first; nothing was written`, { cause });
  }
}

/** One that is prepared on Citus, until `citus.recover_2pc_interval` after a crash, may contain an acknowledged plant. */
async function awaitPrepared(runner: QueryRunner, timeoutMs: number): Promise<void> {
  const sql = `SELECT WHERE to_regproc('run_command_on_all_nodes') IS NOT NULL`;
  const citus = await runner.manager.query<object[]>(sql);
  if (citus.length === 0) return;
  const until = performance.now() + timeoutMs;
  for (let prepared = await readPrepared(runner); prepared.length > 0;) {
    if (performance.now() > until) {
      const what = `its prepared transactions (${prepared.length}), which may hold acknowledged plants`;
      throw new Error(`Citus has not finished ${what}: see docs/clusters.md#citus`);
    }
    await sleep(PREPARED_POLL_MS);
    const left = await readPrepared(runner);
    prepared = prepared.filter((gid) => left.includes(gid));
  }
}

async function readPrepared(runner: QueryRunner): Promise<string[]> {
  const nodes = await runner.manager.query<{ success: boolean; result: string }[]>(PREPARED);
  const failed = nodes.find(({ success }) => !success);
  if (failed) throw new Error(`a node of Citus cannot be read: ${failed.result}`);
  return nodes.flatMap(({ result }) => JSON.parse(result) as string[]);
}
