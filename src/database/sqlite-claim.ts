import { realpathSync, statSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { describeError } from '../errors/describe.js';

/**
 * Claims a SQLite file for one service. The claim is SQLite's lock on a small file beside it, so the
 * operating system ends it with the process, however that ends.
 *
 * @param file in a folder that is there
 * @returns a function that ends the claim
 * @throws Error where another service has the file, or could have it by a second name
 */
export function claimFile(file: string): () => void {
  const path = realPathOf(file);
  const found = statSync(path);
  if (!found.isFile()) throw new Error(`${path} is not a file`);
  // The claim and SQLite's log are found by the name.
  if (found.nlink > 1) {
    throw new Error(`${path} is a hard link: remove its other names, or give it a copy of its own`);
  }
  try {
    const lock = new Database(`${path}-lock`, { timeout: 0 });
    try {
      lock.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      lock.close();
      throw error;
    }
    return () => lock.close();
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'SQLITE_BUSY') {
      throw new Error(`${path}-lock: ${describeError(error)}`, { cause: error });
    }
    throw new Error(
      `another service, or a restore, is running on ${path}: stop it first, or give this one a DATABASE_URL of its own`,
      { cause: error },
    );
  }
}

/** Two names of one file make one claim. A file that is not there yet is made: SQLite takes an empty one. */
function realPathOf(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    // Never where SQLite may have it open: closing a file drops all locks of the process on it.
    writeFileSync(file, '', { flag: 'a' });
    return realpathSync(file);
  }
}
