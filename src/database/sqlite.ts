import type { Database } from 'better-sqlite3';
import type { Engine } from './engine.js';
import { SCHEMA } from './schema.js';

/** Milliseconds that a statement waits for another process that holds the lock, a command, say. */
const BUSY_TIMEOUT = 5_000;

/**
 * SQLite in a file of this machine. Ids travel as text both ways, since a double cannot hold them,
 * and a group as one JSON text, since that is one statement for any number of plants.
 */
export const sqlite: Engine = {
  connect: (url) => ({
    ...SCHEMA,
    type: 'better-sqlite3',
    database: url.slice('sqlite:'.length),
    timeout: BUSY_TIMEOUT,
    prepareDatabase: prepare,
  }),
  insertPlants: (plants) => [
    `INSERT INTO plants (id, name, tag)
     SELECT CAST(value->>0 AS INTEGER), value->>1, value->>2 FROM json_each(?) WHERE true
     ON CONFLICT (id) DO NOTHING RETURNING CAST(id AS TEXT) AS id`,
    [JSON.stringify(plants.map(({ id, name, tag }) => [id, name, tag]))],
  ],
  findPlants: (ids) => [
    `SELECT CAST(id AS TEXT) AS id, name, tag FROM plants
     WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`,
    [JSON.stringify(ids)],
  ],
};

/** WAL and FULL: a commit returns when the plant is on stable storage (sqlite.org/pragma.html). */
function prepare(database: Database): void {
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  // Plants of random ids touch a page each. A longer log writes fewer of them back twice, and more
  // cache reads fewer again (docs/performance.md, "Growth"): 8,000 pages are 32 MB.
  database.pragma('wal_autocheckpoint = 8000');
  database.pragma('cache_size = -32000');
}
