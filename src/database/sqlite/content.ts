/**
 * What a store's file and its log have as bytes. SQLite reads its cache and its index of the log, and does not notice what
 * others write to the files themselves: `cp BACKUP FILE` would become a mixture of both stores with the next checkpoint.
 *
 * 1. The header of the file has an id of the store. A copy of another store, or from before the latest start, has another.
 * 2. sqlite3's `.restore` gives the store another id as well, but through SQLite: the log has it, and nothing is mixed.
 * 3. The file is as long as its header says, unless SQLite has cut it by a VACUUM.
 * 4. The log is as long as its index says, and its last page belongs to its header. What was its end before is still there: a
 *    copy of the log from before lacks it, though the next commit writes an end that fits.
 *
 * This is read by each inspection, and before whatever copies the log into the file: a checkpoint, or the last connection as
 * it closes. What was found overwritten once stays so: the next start, which reads the files anew, decides about them.
 *
 * The thread loads this file too: it imports nothing but types and what Node.js has.
 */
import { fstatSync, readSync } from 'node:fs';
import type { Finding } from '../store-errors.js';
import type { LogSize } from './writer-thread.js';

/** Another process may start the log over between two reads of it: a mismatch that stays is no such race. */
const MAX_LOG_READS = 100;
/** Bytes of the header of a file and of a log, and of each page in the log (sqlite.org/fileformat2.html). */
const [HEADER, LOG_HEADER, FRAME_HEADER] = [100, 32, 24];
/** The place of `application_id` in the header of a file. */
export const ID_OFFSET = 68;

interface Files {
  /** Descriptors of the file and of its log. */
  readonly descriptor: number;
  readonly log: number;
  readonly pageSize: number;
  /** The ids that the file may have: log-owner.ts. Any, if there are none. */
  readonly ids: readonly number[];
  /** @throws Error with SQLite's code if another process does not end writing to the log's index */
  readonly awaitLogSize: () => LogSize;
}

/**
 * Says what to do. The log is moved away, not removed: it may have what was acknowledged.
 * @param moveLog undefined if the file is no database any more, so that there is nothing to keep
 */
export function describeOverwritten(
  file: string,
  suffix: '' | '-wal',
  moveLog: string | undefined,
): Finding {
  const restore = 'restore a backup (docs/operating.md#restore)';
  const keep =
    moveLog === undefined
      ? restore
      : `${restore}, or, to keep what is there now, stop the service, then \`${moveLog}\``;
  return {
    effect: 'unsafe',
    what: `${file}${suffix} was overwritten while the service runs`,
    remedy: `acknowledged plants may be lost; ${suffix === '' ? keep : 'restart the service'}`,
  };
}

/** Reads the bytes of a store's files. */
export class Content {
  private readonly files: Files;
  private readonly ids: Set<number>;
  /** What the latest check has found. */
  private last = { size: 0, schemaVersion: 0 };
  private overwritten: '' | '-wal' | undefined;
  /** The last page of the log, as of the latest check. */
  private end: { salts: Buffer; at: number; frame: Buffer } | undefined;

  constructor(files: Files) {
    this.files = files;
    this.ids = new Set(files.ids);
  }

  /** Whether a file was found overwritten before. */
  get isOverwritten(): boolean {
    return this.overwritten !== undefined;
  }

  /** Whether the file has the header of a database. */
  get isDatabase(): boolean {
    return this.readHeader().isDatabase;
  }

  /** Finds which file was overwritten: the store's, '', or its log. @throws Error with SQLite's code */
  findOverwritten(): '' | '-wal' | undefined {
    if (this.overwritten === undefined && !this.isOwnFile()) this.overwritten = '';
    for (let reads = 0; this.overwritten === undefined; reads++) {
      if (this.isOwnLog(this.files.awaitLogSize())) break;
      if (reads === MAX_LOG_READS) this.overwritten = '-wal';
    }
    return this.overwritten;
  }

  /** Whether the file has an id of the store, and its end. */
  private isOwnFile(): boolean {
    const before = this.readHeader();
    const { size } = fstatSync(this.files.descriptor);
    // A VACUUM changes the schema's version, and a checkpoint writes the header before it cuts the file.
    const isCut =
      size < this.last.size && this.readHeader().schemaVersion === this.last.schemaVersion;
    if (!before.isDatabase || isCut) return false;
    if (this.ids.size > 0 && !this.ids.has(before.id)) {
      if (!this.isLogged(before.id)) return false;
      this.ids.add(before.id);
    }
    this.last = { ...before, size: Math.min(before.size, size) };
    return true;
  }

  /** Reads the header as it is in the file: the log may have a newer one. */
  private readHeader() {
    const header = readAt(this.files.descriptor, 0, HEADER);
    const isDatabase = header.toString('latin1', 0, 15) === 'SQLite format 3';
    // With auto_vacuum, which is not the default, each commit may cut the file.
    const pages = header.readUInt32BE(52) === 0 ? header.readUInt32BE(28) : 0;
    const size = pages * this.files.pageSize;
    return {
      isDatabase,
      id: header.readInt32BE(ID_OFFSET),
      size,
      schemaVersion: header.readUInt32BE(40),
    };
  }

  /** Whether SQLite has written an id to the log, from where a checkpoint has copied it into the file. */
  private isLogged(id: number): boolean {
    const { log, pageSize } = this.files;
    const { log: frames } = this.files.awaitLogSize();
    for (let frame = 0; frame < frames; frame++) {
      const start = LOG_HEADER + frame * (FRAME_HEADER + pageSize);
      const page = readAt(log, start, FRAME_HEADER + HEADER);
      if (page.readUInt32BE(0) === 1 && page.readInt32BE(FRAME_HEADER + ID_OFFSET) === id)
        return true;
    }
    return false;
  }

  /** Whether the log has as many pages as its index says, and the last one belongs to its header (…#walformat). */
  private isOwnLog({ log: frames }: LogSize): boolean {
    if (frames === 0) return true;
    const { log, pageSize } = this.files;
    const end = LOG_HEADER + frames * (FRAME_HEADER + pageSize);
    const header = readAt(log, 0, LOG_HEADER);
    const frame = readAt(log, end - pageSize - FRAME_HEADER, FRAME_HEADER);
    const isLog = header.readUInt32BE(0) >>> 1 === 0x377f0682 >>> 1;
    const salts = header.subarray(16, 24);
    const isSame = salts.equals(frame.subarray(8, 16));
    const { end: before } = this;
    // A log that starts over has other salts.
    const isOlder =
      before?.salts.equals(salts) && !readAt(log, before.at, FRAME_HEADER).equals(before.frame);
    if (!isLog || !isSame || isOlder || fstatSync(log).size < end) return false;
    this.end = { salts, at: end - pageSize - FRAME_HEADER, frame };
    return true;
  }
}

/** Reads bytes, which are 0 past the end. @throws Error with SQLite's code */
function readAt(from: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  try {
    readSync(from, bytes, 0, length, position);
    return bytes;
  } catch (cause) {
    throw Object.assign(new Error(String(cause), { cause }), { code: 'SQLITE_IOERR_READ' });
  }
}
