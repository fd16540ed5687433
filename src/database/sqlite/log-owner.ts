/**
 * Which file a write-ahead log belongs to. SQLite writes commits to this log (the file `-wal`) first, and whoever opens the
 * file later copies what is left of it into whatever file then has the name: an operator who has replaced the file would get a
 * mixture.
 *
 * 1. Each start gives the file a new id, SQLite's `application_id` in its header, and keeps it in a file beside it, `-id`, too
 *    (sqlite-engine.ts, recover). A restored backup, or a copy from before that start, has another id. A checkpoint writes the header,
 *    which may be later: until then `-id` has both the former id and the new one.
 * 2. Before a service or a command opens a file that has a log, it compares the header with `-id`. If they differ, it fails
 *    until the operator has decided: the log may have the latest commits of the other file.
 * 3. A file without a log, or with an empty one, may replace another: its id is written to `-id`. That fails if a service still
 *    runs on the other file, which the lock `-lock` tells.
 */
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { RESTORE } from '../finding.js';
import { ID_OFFSET } from './content.js';
import { giveToOwner, IDS_SUFFIX, lockFile } from './files.js';
import { moveAside } from './put-back.js';

/** The place of the file format's write version in the header, which is 2 if the file uses a write-ahead log. */
const VERSION_OFFSET = 18;

/** Keeps the ids that the file may have. If `-id` is lost, any id is right. */
export function writeIds(file: string, ids: readonly number[]): void {
  const unfinished = `${file}${IDS_SUFFIX}.partial`;
  writeFileSync(unfinished, ids.join(' '), { flush: true });
  giveToOwner(unfinished, file);
  renameSync(unfinished, file + IDS_SUFFIX);
}

/** Reads the ids that the file may have; none if no service has run on it. */
export function readIds(file: string): number[] {
  const path = file + IDS_SUFFIX;
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** Must be called before SQLite reads the file. @throws Error if the log beside it belongs to another file */
export function assertOwnLog(file: string): void {
  if (!hasFilledLog(file) || hasKeptId(file)) return;
  const log = `${file}-wal`;
  const back = `to have what was acknowledged, put the file back that was here, with this log beside it, or ${RESTORE}`;
  const keepNew = `to keep the file that is here now, \`${moveAside(log, 'old')}\``;
  const copied = `if file and log were copied together, \`${moveAside(file + IDS_SUFFIX, 'old')}\``;
  throw new Error(
    `${log} belongs to another file than ${file}: stop the service; ${back}; ${keepNew}; ${copied}`,
  );
}

/**
 * Writes the id of a file that has no log to `-id`, so that the next log belongs to this file. @throws Error if a service still
 * runs on the file that it replaced
 */
export function adoptFile(file: string): void {
  if (hasFilledLog(file) || hasKeptId(file)) return;
  using _lock = lockFile(file);
  writeIds(file, [readId(file)]);
}

function hasKeptId(file: string): boolean {
  const ids = readIds(file);
  if (ids.length === 0 || ids.includes(readId(file))) return true;
  // A service that starts meanwhile changes the header and what is kept.
  return readIds(file).join() !== ids.join() && hasKeptId(file);
}

function hasFilledLog(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function readId(file: string): number {
  return readHeader(file).readInt32BE(ID_OFFSET);
}

/** Whether a file is a store, not a backup, which uses no log. Must be called before SQLite reads the file. */
export function usesLog(file: string): boolean {
  return readHeader(file)[VERSION_OFFSET] === 2;
}

/** Reads the header in the file. Drops the locks that SQLite has on the file in this process, so it must have none. */
function readHeader(file: string): Buffer {
  const header = Buffer.alloc(100);
  const descriptor = openSync(file, 'r');
  readSync(descriptor, header, 0, header.length, 0);
  closeSync(descriptor);
  return header;
}
