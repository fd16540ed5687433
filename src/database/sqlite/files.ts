import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { findUser } from '../../config/environment.js';
import { SchemaError } from '../engine.js';

/** Suffixes of SQLite's logs. SQLite would play them back into any file that stands beside them. */
const LOG_SUFFIXES = ['-wal', '-journal'];
/** Suffix of the file whose lock keeps a second service out. */
const LOCK_SUFFIX = '-lock';
/** Suffixes of all files of a store: the database file, its logs, the index of the write-ahead log, the lock. */
export const STORE_SUFFIXES = ['', ...LOG_SUFFIXES, '-shm', LOCK_SUFFIX];

/** A file that the service has open, by its device and its number there. */
export interface OpenedFile {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
}

/** Finds the log of SQLite that stands beside a database file; undefined if there is none. */
export function findLog(file: string): string | undefined {
  return LOG_SUFFIXES.map((suffix) => file + suffix).find((path) => existsSync(path));
}

/**
 * Identifies the database file, its write-ahead log and the log's index. A process that finds no index makes another
 * one, and the two no longer see each other's commits.
 *
 * @param file no link: the others stand beside the file that a link leads to
 */
export function identifyFiles(file: string): OpenedFile[] {
  return ['', '-wal', '-shm'].map((suffix) => {
    const path = file + suffix;
    const { dev, ino } = statSync(path, { bigint: true });
    return { path, dev, ino };
  });
}

/** Finds the real path of a database file: two names of one file make one lock. @throws SchemaError; Error if it is a folder */
export function requireFile(file: string): string {
  const path = resolve(file);
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new SchemaError('missing', `there is no file ${path}`);
  if (!found.isFile()) throw new Error(`${path} is not a file`);
  return realpathSync(path);
}

/** @throws Error naming the path and the user of this process, if the user may not write to it */
export function assertWritable(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(`user ${findUser()} cannot write to ${path} (${code})`, { cause });
  }
}

/**
 * Makes the missing folders of a new database file, one by one: in /proc Node's recursive way never ends.
 *
 * @throws Error naming the path, if no file can be made in it
 */
export function makeFolder(folder: string): void {
  if (!existsSync(folder)) {
    makeFolder(dirname(folder));
    try {
      mkdirSync(folder);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      // Another process may have made it meanwhile.
      if (code !== 'EEXIST') throw new Error(`cannot create folder ${folder} (${code})`, { cause });
    }
  }
  if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
  assertWritable(folder);
}

/**
 * Locks a database file for one service; makes the file if it is missing. The lock is SQLite's, on a
 * small file beside it, so the operating system releases it when the process ends, however it ends. A lock on the
 * database file itself would shut out commands.
 *
 * @throws Error if another service has the lock, or could use the file by a second name
 */
export function lockFile(file: string): Disposable {
  // SQLite makes a store of an empty file. A file that is there is not opened here: SQLite may have it open, and
  // closing it would drop all locks of the process on it.
  if (!existsSync(file)) writeFileSync(file, '', { flag: 'a' });
  const path = requireFile(file);
  // The lock and SQLite's log are found by the name.
  if (statSync(path).nlink > 1) {
    throw new Error(`${path} is a hard link: remove its other names, or give it a copy of its own`);
  }
  assertWritable(dirname(path));
  const lock = new Database(path + LOCK_SUFFIX, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return { [Symbol.dispose]: () => void lock.close() };
  } catch (cause) {
    lock.close();
    if ((cause as { code?: unknown }).code !== 'SQLITE_BUSY') throw cause;
    throw new Error(
      `another service, or a restore, is running on ${path}: stop it first, or give this one a DATABASE_URL of its own`,
      { cause },
    );
  }
}
