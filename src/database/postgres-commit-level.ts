import type { QueryResult } from 'pg';

/** Name of the last column of a statement that writes plants. On Citus each row may come from another server. */
const COMMITTED_COLUMN = 'committed';

const get = (name: string) => `current_setting('${name}')`;

/**
 * SQL of the last column of a statement that writes plants: 1, or NULL if its commit could be lost. Whatever the server,
 * the database or the role has lowered, the commit waits for stable storage (`remote_apply` waits for more, and stays),
 * and says if it did not wait for the standby. That counts for the transaction alone, so a pooler may stand between.
 */
export const COMMITTED = `(
  SELECT 1 WHERE ${get('fsync')} = 'on' AND ${get('full_page_writes')} = 'on'
    AND set_config('client_min_messages', 'warning', true) = 'warning'
    AND set_config('synchronous_commit',
      CASE ${get('synchronous_commit')} WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true) <> ''
  ) AS ${COMMITTED_COLUMN}`;

/** Settings that no statement can set, by which plants could be lost, and SQL that reads them. */
export const FIXED_SETTINGS = `
  ${get('fsync')} AS fsync, ${get('full_page_writes')} AS full_page_writes, ${get('server_encoding')} AS encoding,
  EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('plants') AND relpersistence = 'u') AS unlogged`;

/**
 * Those, the settings that {@link COMMITTED} sets (tokens and migrations are committed as the server has it), and those
 * that would have statements fail.
 */
export const ALL_SETTINGS = `
  ${get('default_transaction_isolation')} AS default_transaction_isolation,
  (SELECT setting FROM pg_settings WHERE name = 'idle_session_timeout') AS idle_session_timeout,
  ${get('synchronous_commit')} AS synchronous_commit, ${get('client_min_messages')} AS client_min_messages,
  ${FIXED_SETTINGS}`;

/** What a server has of the settings that were read. */
export type Settings = Readonly<Record<string, string | boolean | null>>;

const LOSS = 'a plant could be lost';
const FAILURES = 'requests would fail';

/** What each setting may be, why, and what to set it to (postgresql.org/docs/current/runtime-config.html). */
const SAFE = [
  ['synchronous_commit', /^(on|remote_apply)$/, LOSS, 'on or remote_apply'],
  ['fsync', /^on$/, LOSS, 'on'],
  ['full_page_writes', /^on$/, LOSS, 'on'],
  // It hides the warning that a commit did not wait for the standby.
  ['client_min_messages', /^(?!error)/, LOSS, 'warning'],
  // Of plants that share an id all but one would fail.
  ['default_transaction_isolation', /^read/, FAILURES, 'read committed'],
  // In milliseconds. The pool itself closes sessions that are idle for 10 s; older servers than 14 have none.
  ['idle_session_timeout', /^(0|\d{6,}|[2-9]\d{4}|null)$/, FAILURES, '0, or 20 s or more'],
] as const;

/** Describes why a plant could be lost, or not be stored as it is; undefined if all is well. */
export function describeWeakness(settings: Settings): string | undefined {
  for (const [name, isSafe, harm, safe] of SAFE) {
    const value = settings[name];
    if (value === undefined || isSafe.test(String(value))) continue;
    return `${name} is ${value}, so that ${harm}: set it to ${safe}`;
  }
  if (settings['unlogged'])
    return 'a crash would empty its table: run `ALTER TABLE plants SET LOGGED`';
  if (settings['encoding'] === 'UTF8') return undefined;
  return (
    `its encoding is ${settings['encoding']}, not UTF8: make one by ` +
    '`createdb --encoding UTF8 --template template0 plants`'
  );
}

/** Whether a result is of a statement that writes plants. For several statements at once the driver gives an array. */
export function hasCommitted({ fields }: Partial<QueryResult>): boolean {
  return fields?.at(-1)?.name === COMMITTED_COLUMN;
}

/** Whether the commit of a row of such a result could be lost. */
export function isWeak({ rows }: QueryResult): boolean {
  return (rows as Record<string, unknown>[]).some((row) => row[COMMITTED_COLUMN] === null);
}
