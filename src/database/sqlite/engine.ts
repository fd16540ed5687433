import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { Logger, makesStore, readCode, type Access, type Engine } from '../engine.js';
import { judgeSchema, selectRan } from '../schema.js';
import { SchemaError } from '../store-errors.js';
import { assertWritable, findFile, identifyFiles, lockFile } from './files.js';
import { sqliteReader } from './reader.js';
import { COMMIT_A_PAGE, SqliteWriter } from './writer.js';

/** WAL and FULL: a commit waits for stable storage (sqlite.org/pragma.html); on macOS only with `fullfsync`. */
const PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = FULL',
  'fullfsync = ON',
  'checkpoint_fullfsync = ON',
  // The writer runs checkpoints, and never on the main thread.
  'wal_autocheckpoint = 0',
  // A long reader makes the log grow, and SQLite would keep the space. More than is written between two checkpoints.
  'journal_size_limit = 67108864',
];

/** 4 MB of pages: each plant of a random id changes a page, and a group that changes more writes them twice. */
const CACHE = 'cache_size = -4000';

const LIST_COLUMNS = `
  SELECT tables.name || '.' || columns.name AS name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
  WHERE tables.name NOT GLOB 'sqlite_*'`;

/** The driver, but integers beyond 2^53 are bigints in rows: a double does not represent every int64. */
class ExactDatabase extends Database {
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- they are the driver's
  override prepare<Bound extends unknown[] | object, Result>(sql: string) {
    const statement = super.prepare<Bound, Result>(sql);
    if (!statement.reader) return statement;
    const all = statement.safeIntegers().all.bind(statement);
    return Object.assign(statement, {
      // TypeORM reads rows by `all` alone.
      all: (...bound: unknown[]) => narrowIntegers(all(...bound)),
    });
  }
}

/** Makes numbers of bigints where a double is exact. */
function narrowIntegers<Row>(rows: readonly Row[]): readonly Row[] {
  for (const row of rows as readonly Record<string, unknown>[])
    for (const [name, value] of Object.entries(row))
      if (typeof value === 'bigint' && Number.isSafeInteger(Number(value)))
        row[name] = Number(value);
  return rows;
}

export const sqlite: Engine = {
  reader: sqliteReader,
  beginMigration: 'BEGIN IMMEDIATE',
  listColumns: LIST_COLUMNS,

  // Checks the file before it is opened: the pragmas would change another program's.
  connect(config, access) {
    const file = findFile(config, makesStore(access));
    const timeout = config.statementTimeoutMs;
    const isReader = access === 'read';
    if (!isReader) assertOurs(file, access, timeout);
    return {
      type: 'better-sqlite3',
      driver: ExactDatabase,
      database: file,
      timeout,
      fileMustExist: true,
      readonly: isReader && hasLog(file),
      prepareDatabase: (database: Database.Database) => {
        for (const pragma of isReader ? ['query_only = ON'] : PRAGMAS) database.pragma(pragma);
        if (isReader) assertReadable(database, file);
      },
    };
  },

  openWriter(_store, config) {
    // A link may lead elsewhere by the time that the thread begins.
    const file = findFile(config);
    return new SqliteWriter({
      file,
      opened: identifyFiles(file),
      timeoutMs: config.statementTimeoutMs,
      pragmas: [...PRAGMAS, CACHE],
    });
  },

  lock: (config) => lockFile(findFile(config)),

  /**
   * A process that was killed before the sync leaves plants that can be read, but may not be on the disk. The copy also mends
   * what a failed sync has left (docs/operating.md). If a reader prevents it, a commit syncs the whole log.
   */
  async recover(store) {
    const [result] = await store.query<{ busy: number }[]>('PRAGMA wal_checkpoint(TRUNCATE)');
    if (result?.busy === 0) return;
    await store.query(COMMIT_A_PAGE);
    const warning = 'the log was synced, but not checkpointed: another process uses the store';
    new Logger('Store').warn(warning);
  },
};

/** Whether to open a file read-only: closing it would remove the log, and reading it without one would make one. */
function hasLog(file: string): boolean {
  return existsSync(`${file}-wal`);
}

/** SQLite makes files beside a store to read it. @throws Error naming what this process cannot write to; SQLite's */
function assertReadable(database: Database.Database, file: string): void {
  try {
    database.pragma('schema_version');
  } catch (error) {
    if (/^SQLITE_(READONLY|CANTOPEN)/.test(readCode(error)))
      for (const path of [dirname(file), file]) assertWritable(path);
    throw error;
  }
}

/** @throws SchemaError; Error if this process cannot write to it, or if it has tables of another program */
function assertOurs(file: string, access: Access, timeout: number): void {
  for (const path of [dirname(file), file]) assertWritable(path);
  if (statSync(file).size === 0) return;
  const database = new Database(file, { readonly: hasLog(file), timeout });
  try {
    const list = (sql: string) => database.prepare<[], string>(sql).pluck().all();
    const columns = list(LIST_COLUMNS);
    if (judgeSchema(columns, list(selectRan(columns))) !== 'foreign') return;
    if (!makesStore(access)) throw new SchemaError('foreign');
    throw new Error(`${file} has tables of another program: set DATABASE_URL to another file`);
  } finally {
    database.close();
  }
}
