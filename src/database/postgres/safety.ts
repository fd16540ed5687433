// What must hold while plants are written and rows are read, as operators change a server that runs.
import type { DatabaseError, QueryResult } from 'pg';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { mayCreate, type Access } from '../engine.js';
import { MIGRATIONS_TABLE } from '../schema.js';

/**
 * The last column of statements that write plants: a reason, or the OID of their table, by which another one in its place is
 * noticed; NULL from workers of Citus, where each row may come from another server.
 */
const HAZARD = 'hazard';

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
export const SET_LEVEL = `
  set_config('client_min_messages', ${MESSAGES}, NOT ${ON_WORKER}) <> ''
  AND set_config('synchronous_commit',
    CASE ${get('synchronous_commit')} WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, NOT ${ON_WORKER}) <> ''`;

/** SQL of whether something is wrong, and of the reason for the operator. */
type Hazard = readonly [condition: string, reason: string];

const LOSS = 'so that a plant could be lost: set it to';

/** @param safe SQL of what the setting may be (postgresql.org/docs/current/runtime-config.html) */
const requireSetting = (name: string, safe: string, advice: string): Hazard => [
  `NOT ${get(name)} ${safe}`,
  `'${name} is ' || ${get(name)} || ', ${advice}'`,
];

const adviseOnHidden = (role: string, remedy = 'disable it') =>
  `as a superuser run \`ALTER ROLE ${role} BYPASSRLS\`, or ${remedy}`;

const requireVisible = (table: string): Hazard => {
  const advice = adviseOnHidden('%1$I', `\`ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY\``);
  return [
    `row_security_active(to_regclass('${table}'))`,
    `format('row-level security may hide rows of ${table} from the role %1$I: ${advice}', current_user)`,
  ];
};

/**
 * What lookups of a service that runs rely on. In another isolation all but one of the plants that share an id would fail, and
 * a statement that waited while a table was rewritten would find it empty.
 */
const VISIBLE: readonly Hazard[] = [
  ...['plants', 'tokens'].map(requireVisible),
  requireSetting(
    'default_transaction_isolation',
    "LIKE 'read%'",
    'so that requests would fail: set it to read committed',
  ),
];

/** A crash empties such a table. */
const requireLogged = (table: string): Hazard => [
  `(SELECT relpersistence FROM pg_class WHERE oid = to_regclass('${table}')) = 'u'`,
  `'its table ${table} is unlogged, so that a crash would empty it: run \`ALTER TABLE ${table} SET LOGGED\`'`,
];

/** What each commit relies on, and so the probe. */
const DURABLE: readonly Hazard[] = [
  requireSetting('fsync', "= 'on'", `${LOSS} on, then run \`sync\` on its server`),
  requireSetting('full_page_writes', "= 'on'", `${LOSS} on`),
  // After a failed sync the next one succeeds without the pages that were lost.
  requireSetting('data_sync_retry', "= 'off'", `${LOSS} off`),
  requireLogged('plants'),
  ...VISIBLE,
];

/** What no statement can change, and what {@link SET_LEVEL} sets, as tokens are committed without it. */
const SETTINGS: readonly Hazard[] = [
  requireSetting('synchronous_commit', "IN ('on', 'remote_apply')", `${LOSS} on or remote_apply`),
  // It hides the warning that a commit did not wait for the standby.
  requireSetting('client_min_messages', "<> 'error'", `${LOSS} warning`),
  requireLogged('tokens'),
  // At the start alone: it would make each commit slower.
  [
    `EXISTS (SELECT FROM pg_partition_tree(to_regclass('plants')) JOIN pg_class ON oid = relid WHERE relpersistence = 'u')`,
    `'a partition of its table plants is unlogged, so that a crash would empty it: run \`ALTER TABLE NAME SET LOGGED\`'`,
  ],
  [
    `${get('server_encoding')} <> 'UTF8'`,
    `'its encoding is ' || ${get('server_encoding')} || ', not UTF8: ' ||
      'make one by \`createdb --encoding UTF8 --template template0 plants\`'`,
  ],
];

/** What a session sees: a table that it does not see is not missing. */
const SEEN: readonly Hazard[] = [
  [
    'current_schema() IS NULL',
    `format('the role %1$I may use no schema of its search_path, %2$s: run \`GRANT USAGE ON SCHEMA public TO %1$I\`',
      current_user, ${get('search_path')})`,
  ],
  ...['plants', 'tokens', 'backups', MIGRATIONS_TABLE].map(requireVisible),
];

const SCHEMA_OF_PLANTS = `(SELECT relnamespace::regnamespace FROM pg_class WHERE oid = to_regclass('plants'))`;

/** A store is in the first schema of search_path. */
const IN_FIRST_SCHEMA: Hazard = [
  `${SCHEMA_OF_PLANTS} <> quote_ident(current_schema())::regnamespace`,
  `format('the table plants is in %1$s, and the first schema of search_path is %2$I: run \`ALTER ROLE %3$I SET search_path = %1$s\`',
    ${SCHEMA_OF_PLANTS}, current_schema(), current_user)`,
];

const choose = (hazards: readonly Hazard[], otherwise = 'NULL') =>
  `CASE ${hazards.map(([condition, reason]) => `WHEN ${condition} THEN ${reason}`).join(' ')} ELSE ${otherwise} END`;

const OID = `CASE WHEN NOT ${ON_WORKER} THEN to_regclass('plants')::oid::text END`;

export const COMMIT_COLUMN = `(SELECT CASE WHEN ${SET_LEVEL} THEN ${choose(DURABLE, OID)} END) AS ${HAZARD}`;

/** An insert of no plants. The message in the log, whose place is never null, makes it commit as an insert does. */
export const PROBE = `
  WITH inserted AS (
    INSERT INTO plants (id)
    SELECT 0 FROM pg_logical_emit_message(true, 'plant-store', '') AS place WHERE place IS NULL RETURNING id
  )
  SELECT (SELECT count(*) FROM inserted), ${COMMIT_COLUMN}`;

/** For a lookup that has found nothing. */
export const ASSERT_VISIBLE = `SELECT ${choose(VISIBLE)} AS ${HAZARD}`;

/** Selects why this role cannot work with a store on this server; NULL if it can. */
export function selectReason(access: Access): string {
  const hazards = access === 'read' ? SEEN : [...SEEN, ...DURABLE, ...SETTINGS];
  return `SELECT ${choose(mayCreate(access) ? hazards : [...hazards, IN_FIRST_SCHEMA])} AS reason`;
}

const REPLACED =
  'the table plants was replaced while the service runs: put the former one back, or restart the service';

/** Finds what the last column of a store's statements reports. */
export class HazardFinder {
  /** The OID of the table of the first commit. */
  private table: string | undefined;

  /** Returns why something is wrong; no reason if nothing is, undefined for a result without that column. */
  find({
    fields,
    rows = [],
  }: Partial<QueryResult<{ hazard: string | null }>>): { readonly reason?: string } | undefined {
    // The result of several statements at once is an array.
    if (fields?.at(-1)?.name !== HAZARD) return undefined;
    for (const { hazard } of rows) {
      if (hazard === null || hazard === this.table) continue;
      if (!/^\d+$/.test(hazard)) return { reason: hazard };
      if (this.table !== undefined) return { reason: REPLACED };
      this.table = hazard;
    }
    return {};
  }
}

const ADVANCE = "`SELECT setval(pg_get_serial_sequence('tokens', 'id'), MAX(id)) FROM tokens`";

/** Adds advice to PostgreSQL's refusal to hide rows, to insert into a table with a rule, or to number a token twice. */
export function explain(error: DatabaseError, role = 'ROLE'): Error {
  const { routine, table } = error;
  let advice: string | undefined;
  if (routine === 'check_enable_rls') advice = adviseOnHidden(role);
  if (routine === 'RewriteQuery') advice = 'drop the rule that psql lists by `\\d plants`';
  if (routine === '_bt_check_unique' && table === 'tokens')
    advice = `the sequence of tokens.id is behind, as after logical replication: run ${ADVANCE}`;
  if (!advice) return error;
  return new StoreUnavailableException(`${error.message}: ${advice}`, { cause: error });
}
