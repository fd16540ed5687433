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
import { describeUser } from '../../config/config.js';
import { readCode, SchemaError } from '../engine.js';

/** Suffixes of SQLite's logs. SQLite would play them back into any file that stands beside them. */
const LOG_SUFFIXES = ['-wal', '-journal'];
const LOCK_SUFFIX = '-lock';
/** Of all files of a store. `-shm` is the index of the write-ahead log. */
export const STORE_SUFFIXES = ['', ...LOG_SUFFIXES, '-shm', LOCK_SUFFIX];

export interface OpenedFile {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
}

export function findLog(file: string): string | undefined {
  return LOG_SUFFIXES.map((suffix) => file + suffix).find((path) => existsSync(path));
}

/** With the log's index: two processes with an index each do not see each other's commits. @param file no link */
export function identifyFiles(file: string): OpenedFile[] {
  return ['', '-wal', '-shm'].map((suffix) => {
    const path = file + suffix;
    const { dev, ino } = statSync(path, { bigint: true });
    return { path, dev, ino };
  });
}

/** The real path: two names of one file make one lock. @throws SchemaError; Error if it is no file */
export function requireFile(file: string): string {
  const path = resolve(file);
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new SchemaError('foreign', `there is no file ${path}`);
  if (!found.isFile()) throw new Error(`${path} is not a file`);
  return realpathSync(path);
}

/** @throws Error naming the path and the user of this process */
export function assertWritable(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (cause) {
    throw new Error(`user ${describeUser()} cannot write to ${path} (${readCode(cause)})`, {
      cause,
    });
  }
}

/** One by one: in /proc Node's recursive way never ends. @throws Error naming the path, if no file can be made in it */
export function makeFolder(folder: string): void {
  if (!existsSync(folder)) {
    makeFolder(dirname(folder));
    try {
      mkdirSync(folder);
    } catch (cause) {
      const code = readCode(cause);
      // Another process may have made it meanwhile.
      if (code !== 'EEXIST') throw new Error(`cannot create folder ${folder} (${code})`, { cause });
    }
  }
  if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
  assertWritable(folder);
}

/**
 * Locks a database file for one service; makes the file if it is missing. The lock is SQLite's, which ends with the
 * process, on a file beside it: a lock on the database file would shut out commands.
 *
 * @throws Error if another service has the lock, or could use the file by a second name
 */
export function lockFile(file: string): Disposable {
  // An existing file is not opened: closing it would drop the locks that SQLite may have on it in this process.
  if (!existsSync(file)) writeFileSync(file, '', { flag: 'a' });
  const path = requireFile(file);
  // The lock and SQLite's log are found by the name.
  if (statSync(path).nlink > 1) {
    throw new Error(`${path} is a hard link: remove its other names, or give it a copy of its own`);
  }
  assertWritable(dirname(path));
  // SQLite would open it read-only, and two services could lock it.
  if (existsSync(path + LOCK_SUFFIX)) assertWritable(path + LOCK_SUFFIX);
  const lock = new Database(path + LOCK_SUFFIX, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return { [Symbol.dispose]: () => void lock.close() };
  } catch (cause) {
    lock.close();
    if (readCode(cause) !== 'SQLITE_BUSY') throw cause;
    throw new Error(
      `another service, or a restore, is running on ${path}: stop it first, or give this one a DATABASE_URL of its own`,
      { cause },
    );
  }
}
