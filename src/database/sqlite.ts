import type { Database } from 'better-sqlite3';
import type { Engine } from './engine.js';
import { SCHEMA } from './schema.js';
import { SqliteThread } from './sqlite-thread.js';

/** Milliseconds that a statement waits for another connection that holds the lock. */
const BUSY_TIMEOUT = 5_000;

/**
 * WAL and FULL: a commit returns when the plant is on stable storage (sqlite.org/pragma.html).
 * Plants of random ids touch a page each, so a longer log, of 32 MB, writes fewer of them back twice.
 */
const PRAGMAS = ['journal_mode = WAL', 'synchronous = FULL', 'wal_autocheckpoint = 8000'];

/** 32 MB of pages, for the connection that inserts: it reads the page that a plant belongs on. */
const CACHE = 'cache_size = -32000';

/**
 * Ids travel as text both ways, since a double cannot hold them, and a group as one JSON text, since
 * that is one statement for any number of plants.
 */
const INSERT = `
  INSERT INTO plants (id, name, tag)
  SELECT CAST(value->>0 AS INTEGER), value->>1, value->>2 FROM json_each(?) WHERE true
  ON CONFLICT (id) DO NOTHING RETURNING CAST(id AS TEXT) AS id`;

const FIND = `
  SELECT CAST(id AS TEXT) AS id, name, tag FROM plants
  WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`;

/** SQLite in a file of this machine. */
export const sqlite: Engine = {
  connect: (url) => ({
    ...SCHEMA,
    type: 'better-sqlite3',
    database: fileOf(url),
    timeout: BUSY_TIMEOUT,
    prepareDatabase: (database: Database) => {
      for (const pragma of PRAGMAS) database.pragma(pragma);
    },
  }),
  openInserter: (plants) =>
    new SqliteThread({
      file: String(plants.manager.dataSource.options.database),
      timeout: BUSY_TIMEOUT,
      pragmas: [...PRAGMAS, CACHE],
      insert: INSERT,
    }),
  findPlants: (ids) => [FIND, [JSON.stringify(ids)]],
};

function fileOf(url: string): string {
  return url.slice('sqlite:'.length);
}
