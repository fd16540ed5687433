import { existsSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { describeError } from '../errors/describe.js';

/**
 * Claims a SQLite file for one service. The claim is SQLite's lock on a small file beside it, so the
 * operating system ends it with the process, however that ends.
 *
 * @param file in a folder that is there; made if it is missing, as SQLite takes an empty one
 * @returns a function that ends the claim
 * @throws Error if another service has the file, or could have it by a second name
 */
export function claimFile(file: string): () => void {
  // Never where SQLite may have it open: closing a file drops all locks of the process on it.
  if (!existsSync(file)) writeFileSync(file, '', { flag: 'a' });
  // Two names of one file make one claim.
  const path = realpathSync(file);
  const found = statSync(path);
  if (!found.isFile()) throw new Error(`${path} is not a file`);
  // The claim and SQLite's log are found by the name.
  if (found.nlink > 1) {
    throw new Error(`${path} is a hard link: remove its other names, or give it a copy of its own`);
  }
  let lock: Database.Database | undefined;
  try {
    lock = new Database(`${path}-lock`, { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    lock?.close();
    const isTaken = (cause as { code?: unknown }).code === 'SQLITE_BUSY';
    const reason = isTaken
      ? `another service, or a restore, is running on ${path}: stop it first, or give this one a DATABASE_URL of its own`
      : `${path}-lock: ${describeError(cause)}`;
    throw new Error(reason, { cause });
  }
  return lock.close.bind(lock);
}
