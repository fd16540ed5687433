import type { QueryResult } from 'pg';

/** Name of the last column of a statement that writes plants. On Citus each row may come from another server. */
const COMMITTED_COLUMN = 'committed';

const get = (name: string) => `current_setting('${name}')`;

/**
 * A condition that always holds. Whatever the server, the database or the role has lowered, the commit waits for stable
 * storage (`remote_apply` waits for more, and stays), and says if it did not wait for the standby. That counts for the
 * transaction alone, so a pooler may stand between.
 */
const SET_LEVEL = `
  set_config('client_min_messages', 'warning', true) = 'warning'
  AND set_config('synchronous_commit',
    CASE ${get('synchronous_commit')} WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true) <> ''`;

const toColumn = (condition: string) => `(SELECT 1 WHERE ${condition}) AS ${COMMITTED_COLUMN}`;

/** SQL of the last column of a statement that writes plants: 1, or NULL if its commit could be lost. */
export const COMMITTED = toColumn(
  `${get('fsync')} = 'on' AND ${get('full_page_writes')} = 'on' AND ${SET_LEVEL}`,
);

/** Settings that no statement can set, by which plants could be lost, and SQL that reads them. */
const FIXED_SETTINGS = `
  ${get('fsync')} AS fsync, ${get('full_page_writes')} AS full_page_writes, ${get('server_encoding')} AS encoding,
  EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('plants') AND relpersistence = 'u') AS unlogged`;

/** SQL of the last columns of a probe, which commits as a plant does, and says itself why plants could be lost. */
export const PROBED = `${FIXED_SETTINGS}, ${toColumn(SET_LEVEL)}`;

/**
 * {@link FIXED_SETTINGS}, the settings that {@link COMMITTED} sets (tokens and migrations are committed as the server has it), and those
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

type Setting = Settings[string];
type IsSafe = (value: Setting) => boolean;
const isOn: IsSafe = (value) => value === 'on';

/** What each setting may be, why, and what to set it to (postgresql.org/docs/current/runtime-config.html). */
const SAFE: readonly (readonly [name: string, IsSafe, harm: string, safe: string])[] = [
  [
    'synchronous_commit',
    (value) => isOn(value) || value === 'remote_apply',
    LOSS,
    'on or remote_apply',
  ],
  ['fsync', isOn, LOSS, 'on'],
  ['full_page_writes', isOn, LOSS, 'on'],
  // It hides the warning that a commit did not wait for the standby.
  ['client_min_messages', (value) => value !== 'error', LOSS, 'warning'],
  // Of plants that share an id all but one would fail.
  [
    'default_transaction_isolation',
    (value) => /^read/.test(String(value)),
    FAILURES,
    'read committed',
  ],
  // In milliseconds. The pool itself closes sessions that are idle for 10 s; servers older than 14 have none: null.
  [
    'idle_session_timeout',
    (ms) => Number(ms) === 0 || Number(ms) >= 20_000,
    FAILURES,
    '0, or 20 s or more',
  ],
];

/** Describes why a plant could be lost, or not be stored as it is; undefined if all is well. */
export function describeWeakness(settings: Settings): string | undefined {
  for (const [name, isSafe, harm, safe] of SAFE) {
    const value = settings[name];
    if (value === undefined || isSafe(value)) continue;
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
