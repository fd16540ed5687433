import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import type { DataSource } from 'typeorm';
import {
  Logger,
  NoStoreError,
  NOT_MIGRATED,
  SCHEMA,
  getStatementTimeoutMs,
  type Engine,
  type StoreConfig,
} from './engine.js';
import { claimFile } from './sqlite-claim.js';
import { sqliteReader } from './sqlite-reader.js';
import type { OpenedFile } from './sqlite-thread.js';
import { SqliteWritePath } from './sqlite-writer.js';
import { COMMIT_A_PAGE } from './statements.js';

/**
 * WAL and FULL: a commit returns when the plant is on stable storage (sqlite.org/pragma.html); what
 * macOS calls fsync is not that, hence the next two, which mean nothing elsewhere.
 */
const PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = FULL',
  'fullfsync = ON',
  'checkpoint_fullfsync = ON',
  // The write path says when the log is written back, and never does it on the main thread.
  'wal_autocheckpoint = 0',
];

/** 32 MB of pages: a plant of a random id needs the page that it belongs on. */
const CACHE = 'cache_size = -32000';

const HAS_SCHEMA = "SELECT 1 FROM sqlite_master WHERE name = 'migrations'";

/** SQLite in a file of this machine. */
export const sqlite: Engine = {
  system: 'sqlite',

  /** Looks before it opens: TypeORM would make the file's folder, and the pragmas would change the file of another program. */
  connect(config, access) {
    const file = access === 'create' ? parsePath(config) : requireFile(parsePath(config));
    return {
      ...SCHEMA,
      type: 'better-sqlite3',
      database: file,
      timeout: getStatementTimeoutMs(config),
      fileMustExist: access !== 'create',
      // Where nothing is beside the file, a read-only connection would make a log and leave it there.
      readonly: access === 'read' && ['-wal', '-journal'].some((end) => existsSync(file + end)),
      prepareDatabase: (database: Database.Database) => {
        if (access === 'change' && !database.prepare(HAS_SCHEMA).get())
          throw new Error(NOT_MIGRATED);
        const pragmas = access === 'read' ? ['query_only = ON'] : PRAGMAS;
        for (const pragma of pragmas) database.pragma(pragma);
      },
    };
  },

  reader: sqliteReader,
  findFile: (databaseUrl) => parsePath({ databaseUrl }),
  // Under the write lock from the first look on.
  beginMigration: ['BEGIN IMMEDIATE'],
  // The pragmas ensure it.
  assertDurable: () => Promise.resolve(),
  claim: (config) => {
    if (isInMemory(config)) return () => undefined;
    mkdirSync(dirname(parsePath(config)), { recursive: true });
    return claimFile(parsePath(config));
  },
  recover,
  // A file that cannot be opened needs an operator, not another try.
  isUnavailableAtStart: () => false,
  openWritePath: (store, config) =>
    new SqliteWritePath(store, {
      file: parsePath(config),
      opened: isInMemory(config) ? [] : findOpened(parsePath(config)),
      timeoutMs: getStatementTimeoutMs(config),
      pragmas: [...PRAGMAS, CACHE],
    }),
};

/** @throws NoStoreError */
function requireFile(file: string): string {
  const path = resolve(file);
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new NoStoreError(`there is no file ${path}`);
  if (!found.isFile()) throw new Error(`${path} is not a file`);
  return realpathSync(path);
}

/**
 * Leaves a file that no one has open without a log beside it, now and while it is read: even where nothing can be
 * written. A service that is started on it gives it a log again.
 */
export function dropLog(file: string): void {
  const database = new Database(file, { fileMustExist: true });
  database.pragma('journal_mode = DELETE');
  database.close();
}

function parsePath({ databaseUrl }: Pick<StoreConfig, 'databaseUrl'>): string {
  return databaseUrl.slice('sqlite:'.length);
}

/** Finds the database file, its log and the log's index, which are beside the file that a link leads to. */
function findOpened(file: string): OpenedFile[] {
  const path = realpathSync(file);
  // Without the index another process makes one of its own, and the two no longer see each other's commits.
  return [path, `${path}-wal`, `${path}-shm`].map((path) => {
    const { dev, ino } = statSync(path, { bigint: true });
    return { path, dev, ino };
  });
}

/** The configuration refuses it; the document is built over it. */
function isInMemory(config: StoreConfig): boolean {
  return parsePath(config) === ':memory:';
}

/**
 * A process that was killed between its write to the log and the sync leaves plants that are read, but
 * may not be on the disk. They are written to the file, and both are synced. All of the log is, where no
 * one else has the file open, so this also mends what a failed sync has left (see docs/operating.md).
 * Where a reader keeps some of it back, a commit syncs the log, and all that is in it.
 */
async function recover(store: DataSource): Promise<void> {
  const [result] = await store.query<{ busy: number }[]>('PRAGMA wal_checkpoint(TRUNCATE)');
  if (result?.busy === 0) return;
  await store.query(COMMIT_A_PAGE);
  new Logger('Store').warn(
    'the log was synced, but not written back: another process uses the store',
  );
}
