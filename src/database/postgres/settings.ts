// The settings of a server and of a session that a store needs. inspection.ts and inspector.ts read them.

/** A setting that is not safe: SQL of the condition, and of the reason and the remedy for the operator. */
type Weakness = readonly [condition: string, reason: string, remedy: string];

const LOSS = 'so that a plant could be lost';

/** @param safe SQL that compares the setting with what it may be (postgresql.org/docs/current/runtime-config.html) */
function requireSetting(name: string, safe: string, remedy: string, harm = LOSS): Weakness {
  const value = `current_setting('${name}')`;
  return [`NOT ${value} ${safe}`, `'${name} is ' || ${value} || ', ${harm}'`, `'${remedy}'`];
}

/** What every server needs that has rows of the store, also a worker of Citus, which keeps rows on several servers. */
export const SETTINGS: readonly Weakness[] = [
  requireSetting('fsync', "= 'on'", 'set it to on, then run `sync` on its server'),
  requireSetting('full_page_writes', "= 'on'", 'set it to on'),
  // After a failed sync the next one succeeds without the pages that were lost.
  requireSetting('data_sync_retry', "= 'off'", 'set it to off'),
];

/** What a session needs besides. */
export const SESSION: readonly Weakness[] = [
  // At another level, all but one of the plants that share an id would fail, and a statement that waited while a table was
  // rewritten would find it empty.
  requireSetting(
    'default_transaction_isolation',
    "LIKE 'read%'",
    'set it to read committed',
    'so that requests would fail',
  ),
  [
    `current_setting('server_encoding') <> 'UTF8'`,
    `'its encoding is ' || current_setting('server_encoding') || ', not UTF8'`,
    "'make one by `createdb --encoding UTF8 --template template0 plants`'",
  ],
];

/** What each commit of a plant sets by itself, but not that of a token, or of another module. */
export const UNSET: readonly Weakness[] = [
  requireSetting('synchronous_commit', "IN ('on', 'remote_apply')", 'set it to on or remote_apply'),
  // At `error` the server would not send its warning that a commit did not wait for the standby.
  requireSetting('client_min_messages', "<> 'error'", 'set it to warning'),
];

/** Selects the weaknesses that there are, as rows of `problems` in inspection.ts. @param also SQL of a further condition */
export const listWeaknesses = (weaknesses: readonly Weakness[], also = 'true') =>
  weaknesses
    .map(
      ([condition, reason, remedy]) =>
        `SELECT 1, 'unsafe', ${reason}, ${remedy} WHERE ${condition} AND ${also}`,
    )
    .join(' UNION ALL ');

/** Selects what is wrong with the settings of each worker of Citus: a JSON array of reason and remedy; '' if nothing is. */
export const FIND_ON_WORKERS = `
  SELECT nodename || ':' || nodeport AS node, success, result FROM run_command_on_workers($command$
    SELECT coalesce((
      SELECT json_build_array(what, remedy)::text
      FROM (${listWeaknesses(SETTINGS)}) AS problems (rank, effect, what, remedy) LIMIT 1), '') $command$)`;
