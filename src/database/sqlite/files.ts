import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { describeUser, type Config } from '../../config/config.js';
import { findSqliteFile } from '../../config/database-url.js';
import { describeReason, readCode } from '../../errors/operator-message.js';
import { SchemaError } from '../store-errors.js';
import { identifyFile, isInPlace, STORE_SUFFIXES, type OpenedFile } from './place.js';
import { listRemoved, readLink } from './put-back.js';

/** Suffixes of SQLite's logs: SQLite plays a log back into whatever file has its name. */
const LOG_SUFFIXES = ['-wal', '-journal'];
const LOCK_SUFFIX = '-lock';
/** The suffix of the file with the ids that log-owner.ts keeps. */
export const IDS_SUFFIX = '-id';

/** Says whose file a path is, if it is one of the configured store, or of another one that is in use or was not closed. */
export function describeUse(path: string, { databaseUrl }: Config): string | undefined {
  const store = findSqliteFile(databaseUrl) ?? '';
  // SQLite's log may not be there yet.
  if (existsSync(store) && STORE_SUFFIXES.some((suffix) => realpathSync(store) + suffix === path))
    return 'is a file of the store';
  const log = LOG_SUFFIXES.map((suffix) => path + suffix).find((one) => existsSync(one));
  return log && `is not replaced: there is ${log}, of a store that is in use or was not closed`;
}

/** @throws Error if the file that was written to has lost its name */
export function assertInPlace(file: OpenedFile): void {
  if (isInPlace(file)) return;
  throw new Error(
    `${file.path} was removed or replaced meanwhile, with all that was written: run this again`,
  );
}

/**
 * Identifies what is beside an open file: with two indexes of a log, processes do not see each other's commits, and with two
 * locks a second service starts. @param file the path of the file itself, not of a link
 */
export function identifyCompanions(file: string): OpenedFile[] {
  const paths = [`${file}-wal`, `${file}-shm`];
  const lock = file + LOCK_SUFFIX;
  return [...paths, ...(existsSync(lock) ? [lock] : [])].map(identifyFile);
}

/** Returns the path as it is configured, which may be a link. */
export function getPath({ databaseUrl }: Config): string {
  return resolve(findSqliteFile(databaseUrl) ?? '');
}

/** Returns the real path: two names of one file make one lock. @param makes whether to make a missing one @throws SchemaError */
export function findFile(config: Config, makes = false): string {
  const path = getPath(config);
  // An existing file is not opened: closing it would drop the locks that SQLite may have on it in this process.
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.size) assertNoRemains(path, found !== undefined);
  if (!found) {
    if (!makes) throw new SchemaError('foreign', `there is no file ${path}`);
    // A recursive mkdir under /proc would loop forever.
    if (!existsSync(dirname(path))) mkdirSync(dirname(path));
    assertWritable(dirname(path));
    writeFileSync(path, '', { flag: 'a' });
  }
  if (!statSync(path).isFile()) throw new Error(`${path} is not a file`);
  return realpathSync(path);
}

/** @throws Error if a log has lost its file, or that was emptied: an empty file would pass for a new store */
function assertNoRemains(path: string, isEmptied: boolean): void {
  const file = resolve(dirname(path), readLink(path) ?? path);
  // A start that was killed before it made the store has left an empty file, and perhaps a log of that.
  const suffixes = isEmptied ? [IDS_SUFFIX] : [...LOG_SUFFIXES, IDS_SUFFIX];
  const left = suffixes.map((suffix) => file + suffix).find((one) => existsSync(one));
  if (left === undefined) return;
  const copies = listRemoved(file);
  const back = copies
    ? `it is still open in a process: before that stops, put it back by \`${copies}\``
    : 'stop the service and put that very file back, no copy or backup, beside what is left, which may have its latest plants; or restore a backup as in ' +
      'docs/operating.md#restore, which moves the rest away';
  const what = isEmptied ? `${file} is empty` : `there is no file ${file}`;
  throw new Error(`${what}, but there is ${left} of a store that was here: ${back}`);
}

/** @throws Error naming the path and the user of this process */
export function assertWritable(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (cause) {
    const user = describeUser();
    throw new Error(`user ${user} cannot write to ${path} (${readCode(cause)})`, { cause });
  }
}

/** Gives a new file beside a store to the store's owner, as SQLite does with `-wal`: root must not lock a service out. */
export function giveToOwner(path: string, file: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(file);
  chownSync(path, uid, gid);
}

/** Locks a store until this process ends, by a file beside it: a lock on the store would shut out commands. @throws Error */
export function lockFile(file: string): Disposable {
  const path = file + LOCK_SUFFIX;
  // SQLite would open a file that it cannot write to as read-only, and two services could lock that.
  if (existsSync(path)) assertWritable(path);
  let lock: Database.Database | undefined;
  try {
    lock = new Database(path, { timeout: 0 });
    giveToOwner(path, file);
    lock.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    lock?.close();
    const reason =
      readCode(cause) === 'SQLITE_BUSY'
        ? `another service, or a restore, is running on ${file}: stop it first, or give this one a DATABASE_URL of its own`
        : `${path} cannot be locked (${describeReason(cause)}): if no service runs on the store, move it away`;
    throw new Error(reason, { cause });
  }
  return { [Symbol.dispose]: () => void lock.close() };
}
