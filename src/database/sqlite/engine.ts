import { existsSync, mkdirSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import type { DataSource } from 'typeorm';
import type { Config } from '../../config/config.js';
import { describeError } from '../../errors/operator-message.js';
import {
  Logger,
  NoStoreError,
  getStatementTimeoutMs,
  type Access,
  type Engine,
} from '../engine.js';
import { isOurMigration } from '../schema.js';
import { sqliteReader } from './reader.js';
import type { OpenedFile } from './writer-thread.js';
import { narrowIntegers, SqliteWritePath } from './writer.js';

/**
 * WAL and FULL: a commit returns when the plant is on stable storage (sqlite.org/pragma.html). On macOS fsync alone does
 * not ensure that; the two `fullfsync` do. They have no effect elsewhere.
 */
const PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = FULL',
  'fullfsync = ON',
  'checkpoint_fullfsync = ON',
  // The write path says when the log is written back, and never does it on the main thread.
  'wal_autocheckpoint = 0',
];

/** 4 MB of pages: each plant of a random id changes a page, and a group that changes more writes them twice. */
const CACHE = 'cache_size = -4000';

/** Commits a page: writes a number of the file's header again, which nothing of ours reads. */
export const COMMIT_A_PAGE = 'PRAGMA user_version = 0';

/** Finds what TypeORM's list of migrations and SQLite's own tables leave of a file that is not a store yet. */
const FIND_OTHERS =
  "SELECT name FROM sqlite_master WHERE name <> 'migrations' AND name NOT GLOB 'sqlite_*'";

/** SQLite's driver with every int64 exact in the rows that TypeORM reads. */
class ExactDatabase extends Database {
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- they are the driver's
  override prepare<Bound extends unknown[] | object, Result>(sql: string) {
    const statement = super.prepare<Bound, Result>(sql);
    if (!statement.reader) return statement;
    const all = statement.safeIntegers().all.bind(statement);
    return Object.assign(statement, {
      all: (...bound: unknown[]) => narrowIntegers(all(...bound)),
    });
  }
}

/** SQLite in a file of this machine. */
export const sqlite: Engine = {
  system: 'sqlite',
  reader: sqliteReader,
  // Under the write lock from the first look on.
  beginMigration: 'BEGIN IMMEDIATE',

  /** Looks at the file before it is opened: TypeORM would make its folder, and the pragmas would change another program's file. */
  connect(config, access) {
    const exists = access === 'read' || access === 'change';
    const file = exists ? requireFile(parsePath(config)) : parsePath(config);
    const timeout = getStatementTimeoutMs(config);
    if (access !== 'read' && existsSync(file)) assertOurs(requireFile(file), access, timeout);
    return {
      type: 'better-sqlite3',
      driver: ExactDatabase,
      database: file,
      timeout,
      fileMustExist: exists,
      readonly: access === 'read' && hasLog(file),
      prepareDatabase: (database: Database.Database) => {
        const pragmas = access === 'read' ? ['query_only = ON'] : PRAGMAS;
        for (const pragma of pragmas) database.pragma(pragma);
      },
    };
  },

  openWritePath(store, config) {
    // A link may lead elsewhere by the time that the thread begins.
    const file = realpathSync(parsePath(config));
    return new SqliteWritePath(store, {
      file,
      opened: findOpened(file),
      timeoutMs: getStatementTimeoutMs(config),
      pragmas: [...PRAGMAS, CACHE],
    });
  },

  findFile: parsePath,
  claim: (config) => claimFile(parsePath(config)),
  recover,
};

/** Finds the file's own path, whatever links lead to it: two names of one file make one claim. @throws NoStoreError */
function requireFile(file: string): string {
  const path = resolve(file);
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new NoStoreError(`there is no file ${path}`);
  if (!found.isFile()) throw new Error(`${path} is not a file`);
  return realpathSync(path);
}

/** Whether to open a file read-only in order to change nothing. Without a log, that would make one and leave it there. */
function hasLog(file: string): boolean {
  return ['-wal', '-journal'].some((end) => existsSync(file + end));
}

/**
 * Looks at a file before it is claimed, or opened by a connection that may write: both would change it, or the files
 * beside it.
 *
 * @throws NoStoreError; Error if other programs' tables are where a store is to be made
 */
function assertOurs(file: string, access: Access, timeout: number, readonly = hasLog(file)): void {
  const database = new Database(file, { readonly, timeout });
  try {
    if (readMigrations(database).some(isOurMigration)) return;
    if (access === 'change') throw new NoStoreError();
    if (!database.prepare(FIND_OTHERS).get()) return;
    throw new Error(`${file} has tables of another program: set DATABASE_URL to another file`);
  } catch (error) {
    // A transaction that a crash has cut off: it must be rolled back before anything can be read.
    if ((error as { code?: unknown }).code !== 'SQLITE_READONLY_ROLLBACK') throw error;
    assertOurs(file, access, timeout, false);
  } finally {
    database.close();
  }
}

/** Reads the names of the migrations that were run on a file; none if its list is missing, or not TypeORM's. */
function readMigrations(database: Database.Database): string[] {
  try {
    return database.prepare<[], string>('SELECT name FROM migrations').pluck().all();
  } catch (error) {
    if ((error as { code?: unknown }).code === 'SQLITE_ERROR') return [];
    throw error;
  }
}

/**
 * Claims a file for one service; makes the file and its folder if they are missing. The claim is SQLite's lock on a
 * small file beside it, so the operating system ends it with the process, however that ends.
 *
 * @throws Error if another service has the file, or could have it by a second name
 */
function claimFile(file: string): Disposable {
  mkdirSync(dirname(file), { recursive: true });
  // SQLite takes an empty file for a new store. A file that is there is not opened here: SQLite may have it open, and
  // closing it would drop all locks of the process on it.
  if (!existsSync(file)) writeFileSync(file, '', { flag: 'a' });
  const path = requireFile(file);
  // The claim and SQLite's log are found by the name.
  if (statSync(path).nlink > 1) {
    throw new Error(`${path} is a hard link: remove its other names, or give it a copy of its own`);
  }
  let lock: Database.Database | undefined;
  const close = () => void lock?.close();
  try {
    lock = new Database(`${path}-lock`, { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
    return { [Symbol.dispose]: close };
  } catch (cause) {
    close();
    const isTaken = (cause as { code?: unknown }).code === 'SQLITE_BUSY';
    const reason = isTaken
      ? `another service, or a restore, is running on ${path}: stop it first, or give this one a DATABASE_URL of its own`
      : `${path}-lock: ${describeError(cause)}`;
    throw new Error(reason, { cause });
  }
}

/**
 * Removes the log of a file that no one has open. Readers make no log then, so the file can be read where nothing can be
 * written. A service that is started on the file gives it a log again.
 */
export function dropLog(file: string): void {
  const database = new Database(file, { fileMustExist: true });
  database.pragma('journal_mode = DELETE');
  database.close();
}

function parsePath({ databaseUrl }: Config): string {
  return databaseUrl.slice('sqlite:'.length);
}

/** Finds the database file, its log and the log's index. */
function findOpened(path: string): OpenedFile[] {
  // Without the index another process makes one of its own, and the two no longer see each other's commits.
  return [path, `${path}-wal`, `${path}-shm`].map((path) => {
    const { dev, ino } = statSync(path, { bigint: true });
    return { path, dev, ino };
  });
}

/**
 * Writes the log to the file, and syncs both. A process that was killed between its write to the log and the sync leaves
 * plants that can be read, but may not be on the disk. If no one else has the file open, the whole log is written, which
 * also mends what a failed sync has left (see docs/operating.md). If a reader keeps some of it back, a commit syncs the
 * whole log.
 */
async function recover(store: DataSource): Promise<void> {
  const [result] = await store.query<{ busy: number }[]>('PRAGMA wal_checkpoint(TRUNCATE)');
  if (result?.busy === 0) return;
  await store.query(COMMIT_A_PAGE);
  new Logger('Store').warn(
    'the log was synced, but not written back: another process uses the store',
  );
}
