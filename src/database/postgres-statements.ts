/**
 * Why what is committed at a level of `synchronous_commit` could be lost; undefined where it could not
 * (postgresql.org/docs/current/runtime-config-wal.html).
 */
export function weaknessOf(level: unknown): string | undefined {
  if (level === 'on' || level === 'remote_apply') return undefined;
  return `synchronous_commit is ${String(level)}, so that a plant could be lost: set it to on or remote_apply`;
}

/** The level that the statement is committed at, by which each row of those below ends. */
const LEVEL = "current_setting('synchronous_commit')";

/** The same, and keeps a reload from changing it between the statement and its commit. */
const KEPT_LEVEL = `set_config('synchronous_commit', ${LEVEL}, true)`;

/**
 * One text for any number of plants, in arrays. In the order of the ids, so that two groups wait for
 * each other one way round only. The level is kept once, in a query of its own, not for each row.
 */
export const INSERT = `
  INSERT INTO plants (id, name, tag, created_by, created_at)
  SELECT id, name, tag, created_by, created_at
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
    AS plant (id, name, tag, created_by, created_at)
  ORDER BY id
  ON CONFLICT (id) DO NOTHING RETURNING id, (SELECT ${KEPT_LEVEL})`;

/**
 * With a message to the log for each row, the look is a transaction that commits: it waits for stable
 * storage, and for the synchronous standby where there is one, as the commit of the plant itself did.
 * Otherwise a plant whose own commit broke off before it was on the standby would pass for stored.
 */
export const FIND = `
  SELECT id, name, tag, pg_logical_emit_message(true, 'plant-store', ''), ${KEPT_LEVEL}
  FROM plants WHERE id = ANY($1::bigint[])`;

/** The rows are locked in order first: services that note one token's use at once take turns. */
export const NOTE_USES = `
  WITH uses AS (SELECT id, time FROM unnest($1::integer[], $2::bigint[]) AS used (id, time)),
  locked AS (SELECT id FROM tokens WHERE id = ANY($1::integer[]) ORDER BY id FOR UPDATE)
  UPDATE tokens SET last_used_at = GREATEST(last_used_at, uses.time)
  FROM uses JOIN locked USING (id) WHERE tokens.id = uses.id`;

/**
 * An insert of no plants, which needs the right to insert and a server that is not read-only. With the
 * message to the log it commits, and waits as the commit of a plant does: for stable storage, and for
 * the synchronous standby. (The message's place in the log is never null.)
 */
export const PROBE = `
  WITH inserted AS (
    INSERT INTO plants (id, name)
    SELECT 0, '' FROM pg_logical_emit_message(true, 'plant-store', '') AS place WHERE place IS NULL
    RETURNING id
  )
  SELECT count, ${LEVEL} FROM (SELECT count(*) FROM inserted) AS none`;
