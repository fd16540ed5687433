import type { Database } from 'better-sqlite3';
import type { DataSource } from 'typeorm';
import type { Engine } from './engine.js';
import { SCHEMA } from './schema.js';
import { SqliteWriter } from './sqlite-writer.js';

/** Milliseconds that a statement waits for another connection that holds the lock. */
const BUSY_TIMEOUT = 5_000;

/**
 * WAL and FULL: a commit returns when the plant is on stable storage (sqlite.org/pragma.html); what
 * macOS calls fsync is not that, hence the last two, which mean nothing elsewhere.
 */
const DURABLE = [
  'journal_mode = WAL',
  'synchronous = FULL',
  'fullfsync = ON',
  'checkpoint_fullfsync = ON',
];

/** The writer says when the log is written back, and never does it on the main thread. */
const PRAGMAS = [...DURABLE, 'wal_autocheckpoint = 0'];

/** 32 MB of pages: a plant of a random id needs the page that it belongs on. */
const CACHE = 'cache_size = -32000';

const FIND = `
  SELECT CAST(id AS TEXT) AS id, name, tag FROM plants
  WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`;

/** SQLite in a file of this machine. */
export const sqlite: Engine = {
  connect: (url) => ({
    ...SCHEMA,
    type: 'better-sqlite3',
    database: url.slice('sqlite:'.length),
    timeout: BUSY_TIMEOUT,
    prepareDatabase: (database: Database) => {
      for (const pragma of PRAGMAS) database.pragma(pragma);
    },
  }),
  migrate,
  openWriter: (store) =>
    new SqliteWriter({
      file: String(store.options.database),
      timeout: BUSY_TIMEOUT,
      pragmas: [...PRAGMAS, CACHE],
    }),
  findPlants: (ids) => [FIND, [JSON.stringify(ids)]],
};

/** Under the write lock from the first look on, so that processes that start at once take turns. */
async function migrate(store: DataSource): Promise<string[]> {
  await store.query('BEGIN IMMEDIATE');
  try {
    const migrations = await store.runMigrations({ transaction: 'none' });
    await store.query('COMMIT');
    return migrations.map(({ name }) => name);
  } catch (error) {
    await store.query('ROLLBACK');
    throw error;
  }
}
