import { existsSync, realpathSync, statSync } from 'node:fs';

/** Suffixes of SQLite's logs. SQLite would play them back into any file that stands beside them. */
export const LOG_SUFFIXES = ['-wal', '-journal'];
/** Suffix of the index of the write-ahead log. */
const INDEX_SUFFIX = '-shm';
/** Suffix of the file whose lock keeps a second service out. */
export const LOCK_SUFFIX = '-lock';

/** Suffixes of all files of a store; '' is that of the database file. */
export const STORE_SUFFIXES = ['', ...LOG_SUFFIXES, INDEX_SUFFIX, LOCK_SUFFIX];

/** A file that the service has open, by its device and its number there. */
export interface OpenedFile {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
}

/** Whether SQLite's log stands beside a database file. */
export function hasLog(file: string): boolean {
  return LOG_SUFFIXES.some((suffix) => existsSync(file + suffix));
}

/**
 * Identifies the database file, its write-ahead log and the log's index, which stand beside the file that a link leads
 * to. A process that finds no index makes another one, and the two no longer see each other's commits.
 */
export function identifyFiles(file: string): OpenedFile[] {
  return ['', '-wal', INDEX_SUFFIX].map((suffix) => {
    const path = realpathSync(file) + suffix;
    const { dev, ino } = statSync(path, { bigint: true });
    return { path, dev, ino };
  });
}
