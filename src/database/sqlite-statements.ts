/**
 * Ids travel as text both ways, since a double cannot hold them, and a group as one JSON text of
 * `[id, name, tag, created_by, created_at]` rows, since that is one statement for any number of plants.
 */
export const INSERT = `
  INSERT INTO plants (id, name, tag, created_by, created_at)
  SELECT CAST(value->>0 AS INTEGER), value->>1, value->>2, value->>3, CAST(value->>4 AS INTEGER)
  FROM json_each(?) WHERE true
  ON CONFLICT (id) DO NOTHING RETURNING CAST(id AS TEXT)`;

export const FIND = `
  SELECT CAST(id AS TEXT) AS id, name, tag FROM plants
  WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`;

/** Takes `[id, time]` rows. */
export const NOTE_USES = `
  UPDATE tokens SET last_used_at = uses.value->>1
  FROM json_each(?) AS uses WHERE tokens.id = uses.value->>0`;

/** Writes a number of the file's header again, which nothing of ours reads, and so commits a page. */
export const PROBE = 'PRAGMA user_version = 0';

/** Writes as much of the log back to the file as it can beside others who read and write. */
export const CHECKPOINT = 'PRAGMA wal_checkpoint(PASSIVE)';
