/**
 * Whose log lies beside a file: SQLite plays a log back into whatever file has its name.
 *
 * 1. Each start gives the file a new id, in its header, and keeps that beside the file, in `-id`. A restored backup, or a copy
 *    from before that start, has another one. While it is written, either may be in the header: both are kept.
 * 2. Who opens a file with a log that is not empty first compares its header with `-id`. If they differ, nobody opens it
 *    until the operator has decided: the log may have the latest plants of another file.
 * 3. A file that has no log, or an empty one, may replace another: it becomes the owner of the log to come, unless a
 *    service still runs on the other.
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
import { ID_OFFSET } from './content.js';
import { giveToOwner, IDS_SUFFIX, lockFile } from './files.js';
import { moveAside } from './put-back.js';

/** The place of the version in a header that is needed to write: 2 of a file that uses a write-ahead log. */
const VERSION_OFFSET = 18;

/** Keeps the ids that the file may have. If they are lost, any is allowed. */
export function writeIds(file: string, ids: readonly number[]): void {
  const unfinished = `${file}${IDS_SUFFIX}.partial`;
  writeFileSync(unfinished, ids.join(' '), { flush: true });
  giveToOwner(unfinished, file);
  renameSync(unfinished, file + IDS_SUFFIX);
}

/** Empty if none are kept: of a store that no service has run on. */
export function readIds(file: string): number[] {
  const path = file + IDS_SUFFIX;
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** To be called before SQLite reads the file. @throws Error if the log beside it belongs to another file */
export function assertOwnLog(file: string): void {
  if (!hasLogged(file) || isKnown(file)) return;
  const log = `${file}-wal`;
  const back = `to have what was acknowledged, put the file back that was here, with this log beside it`;
  const keepNew = `to keep the file that is here now, \`${moveAside(log, 'old')}\``;
  const copied = `if file and log were copied together, \`${moveAside(file + IDS_SUFFIX, 'old')}\``;
  throw new Error(
    `${log} belongs to another file than ${file}: stop the service; ${back}; ${keepNew}; ${copied}`,
  );
}

/** Before a file that replaced another gets a log of its own. @throws Error if a service still runs on the other */
export function adoptFile(file: string): void {
  if (hasLogged(file) || isKnown(file)) return;
  using _lock = lockFile(file);
  writeIds(file, [readId(file)]);
}

function isKnown(file: string): boolean {
  const ids = readIds(file);
  if (ids.length === 0 || ids.includes(readId(file))) return true;
  // A service that starts meanwhile changes both.
  return readIds(file).join() !== ids.join() && isKnown(file);
}

function hasLogged(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function readId(file: string): number {
  return readHeader(file).readInt32BE(ID_OFFSET);
}

/** Whether a file is a store, not a backup, which has no log. To be called before SQLite reads the file. */
export function usesLog(file: string): boolean {
  return readHeader(file)[VERSION_OFFSET] === 2;
}

/** As it is in the file: the log may have a newer one. Drops the locks that SQLite has on the file in this process. */
function readHeader(file: string): Buffer {
  const header = Buffer.alloc(100);
  const descriptor = openSync(file, 'r');
  readSync(descriptor, header, 0, header.length, 0);
  closeSync(descriptor);
  return header;
}
