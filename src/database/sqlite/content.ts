/**
 * Whether the bytes of a store's file and of its log (the file `-wal`, to which commits go) are what this service has written.
 * SQLite reads its cache and its index of the log, and does not notice what others write: after `cp BACKUP FILE`, the next
 * checkpoint, which copies the log into the file, would make a mixture of both stores.
 *
 * 1. The header of the file has an id that each start gives to the store. A copy of another store, or an earlier one, has
 *    another.
 * 2. sqlite3's `.restore` changes the id as well, but through SQLite: the log has that id too, and nothing is mixed.
 * 3. The file is not shorter than at the check before, unless SQLite has cut it by a VACUUM.
 * 4. The log is as long as its index says, and its last page belongs to its header. The last page at the check before is still
 *    there: an earlier copy of the log lacks it, though the next commit writes an end that fits.
 *
 * Each inspection checks this, and so does whatever is about to copy the log into the file. A file that was found overwritten
 * counts as overwritten from then on: the next start decides about it.
 *
 * The writer's thread loads this file: its imports are as writer.worker.ts says.
 */
import { fstatSync, readSync } from 'node:fs';
import { RESTORE, unsafe, type Finding } from '../finding.ts';
import { moveAside } from './put-back.ts';
import type { LogSize, SqliteThreadOptions } from './writer-thread.ts';

/** Another process may start the log over while it is read: only a mismatch in so many reads in a row is no such race. */
const MAX_LOG_READS = 100;
/** Lengths of the header of a file, of a log, and of each page in the log, which is a frame (sqlite.org/fileformat2.html). */
const [HEADER, LOG_HEADER, FRAME_HEADER] = [100, 32, 24];
/** The place of `application_id` in the header of a file. */
export const ID_OFFSET = 68;

interface Files extends Pick<SqliteThreadOptions, 'file' | 'descriptor' | 'ids'> {
  /** A descriptor of the log. */
  readonly log: number;
  readonly pageSize: number;
  /** @throws Error with SQLite's code if another process does not end writing to the log's index */
  readonly awaitLogSize: () => LogSize;
}

export class Content {
  private readonly files: Files;
  private readonly ids: Set<number>;
  /** What the latest check has read of the file. */
  private last = { size: 0, schemaVersion: 0 };
  private overwritten: '' | '-wal' | undefined;
  /** The last frame of the log at the latest check. */
  private end: { salts: Buffer; at: number; frame: Buffer } | undefined;

  constructor(files: Files) {
    this.files = files;
    this.ids = new Set(files.ids);
  }

  /** Whether a file was found overwritten before. */
  get isOverwritten(): boolean {
    return this.overwritten !== undefined;
  }

  /** Finds a file that was overwritten. @throws Error with SQLite's code */
  findOverwritten(): Finding | undefined {
    if (this.overwritten === undefined && !this.isOwnFile()) this.overwritten = '';
    for (let reads = 0; this.overwritten === undefined; reads++) {
      if (this.isOwnLog(this.files.awaitLogSize())) break;
      if (reads === MAX_LOG_READS) this.overwritten = '-wal';
    }
    return this.overwritten === undefined ? undefined : this.describe(this.overwritten);
  }

  /** Says what to do. The log is moved away, not removed: it may have what was acknowledged. */
  private describe(suffix: '' | '-wal'): Finding {
    const { file } = this.files;
    const keepNew = `if what is there now is newer than the newest backup, keep it: stop the service, then \`${moveAside(`${file}-wal`, 'old')}\``;
    // A file that is no database any more has nothing to keep.
    const remedy = this.readHeader().isDatabase ? `${RESTORE}; only ${keepNew}` : RESTORE;
    return unsafe(
      `${file}${suffix} was overwritten while the service runs`,
      `acknowledged plants may be lost; ${suffix === '' ? remedy : 'restart the service'}`,
    );
  }

  /** Whether the file has an id of the store, and is not cut short. */
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

  /** Reads the header in the file. The log may have a newer one. */
  private readHeader() {
    const header = readAt(this.files.descriptor, 0, HEADER);
    const isDatabase = header.toString('latin1', 0, 15) === 'SQLite format 3';
    // 0 pages stand for any size: with auto_vacuum, which is not the default, each commit may cut the file.
    const pages = header.readUInt32BE(52) === 0 ? header.readUInt32BE(28) : 0;
    const size = pages * this.files.pageSize;
    const [id, schemaVersion] = [header.readInt32BE(ID_OFFSET), header.readUInt32BE(40)];
    return { isDatabase, id, size, schemaVersion };
  }

  /** Whether the log has a header with an id, which a checkpoint has then copied into the file. */
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

  /** Whether the log is one, complete, and continues the one of the latest check (sqlite.org/fileformat2.html#walformat). */
  private isOwnLog({ log: frames }: LogSize): boolean {
    if (frames === 0) return true;
    const { log, pageSize } = this.files;
    const end = LOG_HEADER + frames * (FRAME_HEADER + pageSize);
    const at = end - pageSize - FRAME_HEADER;
    const header = readAt(log, 0, LOG_HEADER);
    const frame = readAt(log, at, FRAME_HEADER);
    // The last bit of this number is the byte order of the checksums.
    const isLog = header.readUInt32BE(0) >>> 1 === 0x377f0682 >>> 1;
    const salts = header.subarray(16, 24);
    const isSame = salts.equals(frame.subarray(8, 16));
    const { end: former } = this;
    // SQLite gives other salts to a log that it starts over.
    const isOlder =
      former?.salts.equals(salts) && !readAt(log, former.at, FRAME_HEADER).equals(former.frame);
    if (!isLog || !isSame || isOlder || fstatSync(log).size < end) return false;
    this.end = { salts, at, frame };
    return true;
  }
}

/** Reads bytes; those past the end of the file are 0. @throws Error with SQLite's code */
function readAt(from: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  try {
    readSync(from, bytes, 0, length, position);
    return bytes;
  } catch (cause) {
    throw Object.assign(new Error(String(cause), { cause }), { code: 'SQLITE_IOERR_READ' });
  }
}
