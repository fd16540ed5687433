import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { QueryRunner } from 'typeorm';
import type { SnapshotReader } from '../engine.js';

/** Null on servers without Citus. */
const RUN_ON_NODES = "to_regproc('run_command_on_all_nodes')";
/** The names of the prepared transactions of each node of Citus, as a JSON array. */
const PREPARED = `
  SELECT success, result FROM run_command_on_all_nodes($$
    SELECT coalesce(json_agg(gid), '[]') FROM pg_prepared_xacts
    WHERE database = current_database() AND gid LIKE 'citus%' $$)`;
const PREPARED_POLL_MS = 200;

/** Servers older than 17 have no `transaction_timeout`. */
const BEGIN = `
  BEGIN ISOLATION LEVEL REPEATABLE READ;
  SET LOCAL statement_timeout = 0;
  SET LOCAL idle_in_transaction_session_timeout = 0;
  SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'transaction_timeout'`;

export const postgresReader: SnapshotReader = {
  async begin(runner, timeoutMs) {
    await awaitPrepared(runner, timeoutMs);
    await runner.query(BEGIN);
  },

  /** Checks the indexes by the extension amcheck, unless this role cannot use it or Citus's workers have them. */
  async check(runner, tables) {
    const [amcheck] = await runner.manager.query<{ name: string }[]>(
      `SELECT oid::regproc AS name FROM pg_proc
      WHERE proname = 'bt_index_check' AND pronargs = 2 AND has_function_privilege(oid, 'EXECUTE')
        AND ${RUN_ON_NODES} IS NULL`,
    );
    if (!amcheck) return false;
    // `true` makes it look up each row in the index, too.
    const sql = `
      SELECT ${amcheck.name}(indexrelid, true) FROM pg_index
      JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
      WHERE indrelid = ANY($1::regclass[]) AND indisvalid AND amname = 'btree'`;
    await runner.query(sql, [tables]);
    return true;
  },

  // In a format that escapes nothing: JSON has no control characters. If it is left early, the server still sends the rest,
  // so the driver destroys the connection when it is closed.
  async *read(runner, { table, columns, form }) {
    const line =
      form === 'array'
        ? `array_to_json(ARRAY[${columns.map(({ name }) => `${name}::text`).join()}])`
        : `json_strip_nulls(json_build_object(${columns.map(({ name }) => `'${name}', ${name}`).join()}))`;
    const client = (await runner.connect()) as Client;
    yield* client.query(
      copyTo(`COPY (SELECT ${line} FROM ${table} ORDER BY id) TO STDOUT
        (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')`),
    ) as AsyncIterable<Buffer>;
  },
};

/**
 * Waits for the transactions that are prepared on Citus now. One may contain an acknowledged plant that is not visible:
 * after a crash of its worker it stays prepared until the coordinator finds it (`citus.recover_2pc_interval`).
 */
async function awaitPrepared(runner: QueryRunner, timeoutMs: number): Promise<void> {
  const citus = await runner.manager.query<object[]>(`SELECT WHERE ${RUN_ON_NODES} IS NOT NULL`);
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
