import { hasSameKey, insertFrom, isSame, type Statements } from '../statements.js';

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

const ROWS = 'jsonb_array_elements($1::jsonb)';

export const statements: Statements = {
  insert: (table) => insertFrom(ROWS, table),

  renumber({ name, key }) {
    const sequence = `pg_get_serial_sequence('"${name}"', '${key.name}')`;
    return `SELECT setval(${sequence}, (SELECT MAX("${key.name}") FROM "${name}"))`;
  },

  // Sorted by key, so that concurrent inserts cannot deadlock. The level of the commit is set once, not for each row: by
  // set_level, and on workers of Citus by RETURNING, which runs there.
  insertFree: (table) => `
    ${insertFrom(ROWS, table)}, (SELECT ${SET_LEVEL}) AS set_level ORDER BY "${table.key.name}"
    ON CONFLICT ("${table.key.name}") DO NOTHING RETURNING 1 AS count, (SELECT ${SET_LEVEL}) AS level`,

  // It writes to the log, so that its commit waits for the standby: a row that has not reached it must not pass for stored.
  compare: (table, content) => `
    SELECT (sent.key - 1)::integer AS place, ${isSame(table, content, '"C"')} AS same,
      pg_logical_emit_message(true, 'plant-store', ''), (SELECT ${SET_LEVEL}) AS level
    FROM ${ROWS} WITH ORDINALITY AS sent (value, key) JOIN "${table.name}" ON ${hasSameKey(table)}`,

  // It locks the rows in order first: services with the same tokens take turns.
  recordUses: (table, column) => `
    WITH uses AS (
      SELECT (use->>0)::integer AS id, (use->>1)::bigint AS time
      FROM json_array_elements($1) AS list (use)),
    locked AS (SELECT id FROM ${table} WHERE id IN (SELECT id FROM uses) ORDER BY id FOR UPDATE)
    UPDATE ${table} SET ${column} = GREATEST(${column}, uses.time)
    FROM uses JOIN locked USING (id) WHERE ${table}.id = uses.id`,

  lockChanges: (table) => `LOCK TABLE ${table} IN SHARE UPDATE EXCLUSIVE MODE`,
};
