import type { QueryResult } from 'pg';

/**
 * Name of the last column of a statement that writes, by which each of its rows tells the level that it is
 * committed at. On Citus each row may come from another server.
 */
const LEVEL_COLUMN = 'synchronous_commit';

const get = (name: string) => `current_setting('${name}')`;
const keep = (name: string) => `set_config('${name}', ${get(name)}, true)`;

/** The settings by which a commit could be lost, what each may be, what to set it to, and how a commit reads it. */
const SETTINGS = [
  ['synchronous_commit', /^(on|remote_apply)$/, 'on or remote_apply', keep],
  ['fsync', /^on$/, 'on', get],
  ['full_page_writes', /^on$/, 'on', get],
  // It hides the warning that a commit did not wait for the standby.
  ['client_min_messages', /^(?!error)/, 'warning', keep],
] as const;

/** SQL of that column: what the server has of the settings, in their order. */
export const COMMIT_LEVEL = `concat_ws(' ', ${SETTINGS.map(([name]) => get(name)).join(', ')})`;

/**
 * The same, and keeps a reload of the server from changing what counts at the commit between the statement and its
 * commit.
 */
export const KEPT_COMMIT_LEVEL = `concat_ws(' ', ${SETTINGS.map(([name, , , read]) => read(name)).join(', ')})`;

/** The level that was found safe last: they are mostly the same. */
let lastSafe: unknown;

/** Whether an answer's rows tell their level. For several statements at once, as in a migration, the driver gives an array. */
export function hasLevel({ fields }: Partial<QueryResult>): boolean {
  return fields?.at(-1)?.name === LEVEL_COLUMN;
}

/** Finds why rows that tell their level could be lost; undefined if they could not. */
export function findWeakness({ rows }: Partial<QueryResult>): string | undefined {
  for (const row of rows as Record<string, unknown>[]) {
    const level = row[LEVEL_COLUMN];
    if (level === lastSafe) continue;
    const weakness = describeWeakness(String(level));
    if (weakness !== undefined) return weakness;
    lastSafe = level;
  }
  return undefined;
}

/**
 * Describes why a commit at a {@link COMMIT_LEVEL} could be lost; undefined if it could not
 * (postgresql.org/docs/current/runtime-config-wal.html).
 */
export function describeWeakness(level: string): string | undefined {
  const values = level.split(' ');
  for (const [i, [name, isSafe, safe]] of SETTINGS.entries()) {
    const value = values[i] ?? '';
    if (isSafe.test(value)) continue;
    return `${name} is ${value}, so that a plant could be lost: set it to ${safe}`;
  }
  return undefined;
}
