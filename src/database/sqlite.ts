import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { DataSource, type DataSourceOptions } from 'typeorm';
import {
  NOT_MIGRATED,
  SCHEMA,
  statementTimeoutMs,
  NO_STORE,
  type Engine,
  type StoreConfig,
} from './engine.js';
import { Logger } from './logger.js';
import { claimFile } from './sqlite-claim.js';
import { reader } from './sqlite-reader.js';
import type { OpenedFile, SqliteThreadOptions } from './sqlite-thread.js';
import { SqliteWritePath } from './sqlite-write-path.js';
import { COMMIT_A_PAGE } from './statements.js';

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

/** The write path says when the log is written back, and never does it on the main thread. */
const PRAGMAS = [...DURABLE, 'wal_autocheckpoint = 0'];

/** 32 MB of pages: a plant of a random id needs the page that it belongs on. */
const CACHE = 'cache_size = -32000';

const HAS_SCHEMA = "SELECT 1 FROM sqlite_master WHERE name = 'migrations'";

/** SQLite in a file of this machine. */
export const sqlite: Engine = {
  system: 'sqlite',
  connect,
  connectToExisting,
  connectToRead: (config, advice) => {
    assertFile(config, advice);
    const file = realpathSync(fileOf(config));
    return {
      ...optionsOf(config),
      fileMustExist: true,
      // Where nothing is beside the file, a read-only connection would make a log and leave it there.
      readonly: ['-wal', '-journal'].some((end) => existsSync(file + end)),
      // The store's own pragmas would change the file of another program.
      prepareDatabase: (database: Database.Database) => {
        database.pragma('query_only = ON');
      },
    };
  },
  reader,
  fileOf: (databaseUrl) => fileOf({ databaseUrl }),
  migrate,
  // The pragmas ensure it.
  assertDurable: () => Promise.resolve(),
  claim: (config) => {
    makeFolder(config);
    return isInMemory(config) ? () => undefined : claimFile(fileOf(config));
  },
  recover,
  // A file that cannot be opened needs an operator, not another try.
  isUnavailableAtStart: () => false,
  openWritePath: (store, config) =>
    new SqliteWritePath(store, {
      file: fileOf(config),
      opened: isInMemory(config) ? undefined : openedFiles(fileOf(config)),
      timeout: statementTimeoutMs(config),
      pragmas: [...PRAGMAS, CACHE],
    }),
};

function connect(config: StoreConfig) {
  makeFolder(config);
  return optionsOf(config);
}

function optionsOf(config: StoreConfig) {
  return {
    ...SCHEMA,
    type: 'better-sqlite3',
    database: fileOf(config),
    timeout: statementTimeoutMs(config),
    prepareDatabase: (database: Database.Database) => {
      for (const pragma of PRAGMAS) database.pragma(pragma);
    },
  } satisfies DataSourceOptions;
}

/** Looks first: TypeORM would make the file's folder, and the pragmas would change the file of another program. */
function connectToExisting(config: StoreConfig) {
  assertFile(config, NO_STORE);
  const options = optionsOf(config);
  return {
    ...options,
    fileMustExist: true,
    prepareDatabase: (database: Database.Database) => {
      if (!database.prepare(HAS_SCHEMA).get()) throw new Error(NOT_MIGRATED);
      options.prepareDatabase(database);
    },
  } satisfies DataSourceOptions;
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

function assertFile(config: StoreConfig, advice: string): void {
  const path = resolve(fileOf(config));
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new Error(`there is no file ${path}${advice}`);
  if (!found.isFile()) throw new Error(`${path} is not a file`);
}

function fileOf({ databaseUrl }: Pick<StoreConfig, 'databaseUrl'>): string {
  return databaseUrl.slice('sqlite:'.length);
}

/**
 * Makes the folder of the file, and those above it that are missing. Each by itself: Node's `recursive`, which TypeORM
 * would use, never returns where the system refuses a folder as if the one above were missing, as /proc does.
 */
function makeFolder(config: StoreConfig): void {
  const missing: string[] = [];
  for (
    let folder = dirname(resolve(fileOf(config)));
    !existsSync(folder);
    folder = dirname(folder)
  ) {
    missing.unshift(folder);
  }
  for (const folder of missing) {
    try {
      mkdirSync(folder);
    } catch (error) {
      // Another process that starts now has made it.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** The log and its index are beside the file that a link leads to. */
function openedFiles(file: string): SqliteThreadOptions['opened'] {
  const path = realpathSync(file);
  // Without the index another process makes one of its own, and the two no longer see each other's commits.
  const beside = [`${path}-wal`, `${path}-shm`].map(openedFile);
  return { database: openedFile(file), beside, folder: dirname(path) };
}

function openedFile(path: string): OpenedFile {
  const { dev, ino } = statSync(path, { bigint: true });
  return { path, dev, ino };
}

/** The configuration refuses it; the document is built over it. */
function isInMemory(config: StoreConfig): boolean {
  return fileOf(config) === ':memory:';
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

/** Under the write lock from the first look on, so that processes that start at once take turns. */
async function migrate(config: StoreConfig): Promise<string[]> {
  const store = await new DataSource(connect(config)).initialize();
  try {
    await store.query('BEGIN IMMEDIATE');
    const migrations = await store.runMigrations({ transaction: 'none' });
    await store.query('COMMIT');
    return migrations.map(({ name }) => name);
  } finally {
    // Whatever was not committed is rolled back.
    await store.destroy();
  }
}
