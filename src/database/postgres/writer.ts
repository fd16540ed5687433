import type { QueryResult } from 'pg';
import type { EntityManager } from 'typeorm';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { Writer } from '../engine.js';

/** The last column of a statement that writes plants. On Citus each row may come from another server. */
const COMMITTED = 'committed';

const get = (name: string) => `current_setting('${name}')`;

/** Whether this is a session of Citus's coordinator on a worker, by the name that it gives to them. */
const ON_WORKER = `${get('application_name')} LIKE 'citus\\_internal%'`;

/** The level of warnings. Citus's coordinator passes on at debug1 those of its workers' commits. */
const MESSAGES = `
  CASE WHEN ${ON_WORKER} OR current_setting('citus.worker_min_messages', true) IS NULL THEN 'warning' ELSE 'debug1' END`;

/**
 * Always true. Makes the commit wait for stable storage, and warn if it does not wait for the standby, whatever the role or
 * the server has lowered: for the transaction alone, as a pooler may stand between; on a worker of Citus for the session,
 * as `COMMIT PREPARED` is a transaction of its own.
 */
const SET_LEVEL = `
  set_config('client_min_messages', ${MESSAGES}, NOT ${ON_WORKER}) <> ''
  AND set_config('synchronous_commit',
    CASE ${get('synchronous_commit')} WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, NOT ${ON_WORKER}) <> ''`;

const toColumn = (condition: string) => `(SELECT 1 WHERE ${condition}) AS ${COMMITTED}`;

/** 1, or NULL if the commit could be lost. */
const COMMIT_COLUMN = toColumn(
  `${get('fsync')} = 'on' AND ${get('full_page_writes')} = 'on' AND ${SET_LEVEL}`,
);

/** What no statement can set, and by which plants could be lost. */
const FIXED_SETTINGS = `
  ${get('fsync')} AS fsync, ${get('full_page_writes')} AS full_page_writes, ${get('server_encoding')} AS "its encoding",
  CASE WHEN EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('plants') AND relpersistence = 'u')
    THEN 'unlogged' END AS "its table"`;

/** An insert of no plants. The message in the log, whose place is never null, makes it commit as an insert does. */
const PROBE = `
  WITH inserted AS (
    INSERT INTO plants (id)
    SELECT 0 FROM pg_logical_emit_message(true, 'plant-store', '') AS place WHERE place IS NULL RETURNING id
  )
  SELECT (SELECT count(*) FROM inserted), ${FIXED_SETTINGS}, ${toColumn(SET_LEVEL)}`;

/** Also what {@link COMMIT_COLUMN} sets, as tokens are committed without it. */
export const READ_SETTINGS = `
  SELECT ${get('synchronous_commit')} AS synchronous_commit, ${get('client_min_messages')} AS client_min_messages,
  ${FIXED_SETTINGS}, ${get('default_transaction_isolation')} AS default_transaction_isolation`;

const LOSS = 'so that a plant could be lost: set it to';

/** What each setting may be, and advice on another value (postgresql.org/docs/current/runtime-config.html). */
const SAFE: Readonly<Record<string, readonly [safe: RegExp, advice: string]>> = {
  synchronous_commit: [/^(on|remote_apply)$/, `${LOSS} on or remote_apply`],
  fsync: [/^on$/, `${LOSS} on`],
  full_page_writes: [/^on$/, `${LOSS} on`],
  // It hides the warning that a commit did not wait for the standby.
  client_min_messages: [/^(?!error$)/, `${LOSS} warning`],
  // All but one of the plants that share an id would fail.
  default_transaction_isolation: [/^read/, 'so that requests would fail: set it to read committed'],
  'its table': [/^null$/, 'so that a crash would empty it: run `ALTER TABLE plants SET LOGGED`'],
  'its encoding': [
    /^UTF8$/,
    'not UTF8: make one by `createdb --encoding UTF8 --template template0 plants`',
  ],
};

export type Settings = Readonly<Record<string, unknown>>;

/** @throws Failure, with a reason for the operator, if a plant could be lost, or not be stored as it is */
export function assertSafe(
  [settings = {}]: readonly Settings[],
  Failure: new (reason: string) => Error,
): void {
  for (const [name, value] of Object.entries(settings)) {
    const [safe, advice] = SAFE[name] ?? [];
    if (safe && !safe.test(String(value)))
      throw new Failure(`${name} is ${String(value)}, ${advice}`);
  }
}

/** Undefined for statements that write no plants, among them several at once: their result is an array. */
export function isCommitDurable({ fields, rows = [] }: Partial<QueryResult>): boolean | undefined {
  if (fields?.at(-1)?.name !== COMMITTED) return undefined;
  return (rows as Settings[]).every((row) => row[COMMITTED] !== null);
}

/** Writes over TypeORM's pool. No session state and no named statements, so a pooler may stand between. */
export class PostgresWriter extends Writer {
  readonly system = 'postgresql';
  /** See docs/performance.md: the slower a commit, the more plants share it. */
  readonly concurrency = 4;
  readonly commitColumn = COMMIT_COLUMN;

  constructor(private readonly manager: EntityManager) {
    super();
  }

  override query<Row>(sql: string, parameters?: unknown[]): Promise<Row[]> {
    return this.manager.query<Row[]>(sql, parameters);
  }

  override async probe(): Promise<void> {
    assertSafe(await this.query<Settings>(PROBE), StoreUnavailableException);
  }
}
