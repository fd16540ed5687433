// The thread of writer-thread.ts. Under Jest, which compiles nothing that a thread loads, Node.js strips the types.
import { fstatSync, openSync, readSync, statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import Database, { type Statement } from 'better-sqlite3';
import type { OpenedFile } from './files.js';
import type {
  LogSize,
  SqliteThreadOptions,
  SqliteThreadResponse,
  SqliteThreadTask,
} from './writer-thread.js';

/** SQLite's own wait for a lock cannot be aborted, and a process that exits meanwhile aborts. */
const LOCK_WAIT_MS = 100;

/** Another process may start the log over between two reads of it: a mismatch that stays is no such race. */
const MAX_LOG_READS = 100;

const { file, descriptor, ids, opened, timeoutMs, pragmas, abandoned } =
  workerData as SqliteThreadOptions;
const KEEP_IT = `to keep what is there now, stop the service, and remove ${file}-wal and ${file}-shm`;
// Checked before it is opened, and again before SQLite reads it: closing another file would play our log back into it.
assertOpened();
const database = new Database(file, { timeout: LOCK_WAIT_MS, fileMustExist: true });
assertOpened();
for (const pragma of pragmas) database.pragma(pragma);
assertOpened();

const statements = new Map<string, Statement>();
// READ_LOG_SIZE of writer-thread.ts.
const readLogSize = database.prepare('PRAGMA wal_checkpoint(NOOP)');

const log = openSync(`${file}-wal`, 'r');
const pageSize = database.pragma('page_size', { simple: true }) as number;
/** Of the file, at the latest check. */
let known = { size: 0, schemaVersion: 0 };
let overwritten: Error | undefined;

parentPort?.on('message', (task: SqliteThreadTask) => {
  if (task) return parentPort?.postMessage(runTask(...task));
  database.close();
  parentPort?.close();
});

/** Runs a statement, and waits while another connection holds the lock. */
function runTask(sql: string, ...parameters: unknown[]): SqliteThreadResponse {
  const until = performance.now() + timeoutMs;
  for (;;) {
    try {
      checkContent();
      const rows = runStatement(sql, parameters);
      assertOpened();
      return { rows, log: checkContent() };
    } catch (error) {
      const { code } = Object(error) as { code?: unknown };
      const isOver = performance.now() >= until || Atomics.load(abandoned, 0) === 1;
      if (code !== 'SQLITE_BUSY' || isOver)
        return { message: Error.isError(error) ? error.message : String(error), code };
    }
  }
}

function runStatement(sql: string, parameters: readonly unknown[]): readonly unknown[] {
  const statement = statements.get(sql) ?? database.prepare(sql);
  statements.set(sql, statement);
  if (statement.reader) return statement.all(...parameters);
  return [{ count: statement.run(...parameters).changes }];
}

/** Around each commit: SQLite does not notice what others write to its files. @throws Error with a code like SQLite's */
function checkContent(): LogSize {
  if (overwritten) throw overwritten;
  if (!isOwnFile()) throw (overwritten = makeError(file, `restore a backup, or ${KEEP_IT}`));
  for (let reads = 0; reads < MAX_LOG_READS; reads++) {
    const size = awaitLogSize();
    if (isOwnLog(size)) return size;
  }
  throw (overwritten = makeError(`${file}-wal`, 'restart the service'));
}

/** After each commit: SQLite goes on writing to a file that was removed. @throws Error with SQLite's code */
function assertOpened(): void {
  const moved = opened.find((file) => !isInPlace(file));
  if (!moved) return;
  const advice = moved.path === file ? KEEP_IT : 'restart the service';
  const message = `${moved.path} was removed or replaced while the service runs: put it back, or ${advice}`;
  throw Object.assign(new Error(message), { code: 'SQLITE_READONLY_DBMOVED' });
}

/** @throws Error if it cannot be told, such as of a folder that can no longer be entered */
function isInPlace({ path, dev, ino }: OpenedFile): boolean {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found?.ino === ino && found.dev === dev;
  } catch (cause) {
    const message = `${(cause as Error).message}: let the service's user reach it again`;
    throw Object.assign(new Error(message, { cause }), { code: 'SQLITE_CANTOPEN' });
  }
}

/** Whether the file has the store's id, and its end. */
function isOwnFile(): boolean {
  const before = readHeader();
  const { size } = fstatSync(descriptor);
  // A VACUUM changes the schema's version, and a checkpoint writes the header before it cuts the file.
  const isCut = size < known.size && readHeader().schemaVersion === known.schemaVersion;
  if (!before.isOwn || isCut) return false;
  known = { ...before, size: Math.min(before.size, size) };
  return true;
}

/** As it is in the file: the log may have a newer one (sqlite.org/fileformat2.html#database_header). */
function readHeader() {
  const header = readAt(descriptor, 0, 100);
  const isDatabase = header.toString('latin1', 0, 15) === 'SQLite format 3';
  const isOwn = isDatabase && (ids.length === 0 || ids.includes(header.readInt32BE(68)));
  // With auto_vacuum, which is not the default, each commit may cut the file.
  const pages = header.readUInt32BE(52) === 0 ? header.readUInt32BE(28) : 0;
  return { isOwn, size: pages * pageSize, schemaVersion: header.readUInt32BE(40) };
}

/** Whether the log has as many frames as its index says, and the last one belongs to its header (…#walformat). */
function isOwnLog({ log: frames }: LogSize): boolean {
  if (frames === 0) return true;
  const end = 32 + frames * (24 + pageSize);
  const header = readAt(log, 0, 32);
  const frame = readAt(log, end - pageSize - 24, 24);
  const isLog = header.readUInt32BE(0) >>> 1 === 0x377f0682 >>> 1;
  const isSame = header.subarray(16, 24).equals(frame.subarray(8, 16));
  return isLog && isSame && fstatSync(log).size >= end;
}

/** @throws Error with SQLite's code if another process does not end writing to the log's index */
function awaitLogSize(): LogSize {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const size = readLogSize.get() as LogSize;
    // -1 meanwhile.
    if (size.log >= 0) return size;
    if (Atomics.wait(abandoned, 0, 0, 1) === 'not-equal' || performance.now() >= until)
      throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
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

/** The code is no one of SQLite's, but starts as that of a file that was moved. */
function makeError(path: string, advice: string): Error {
  const message = `${path} was overwritten while the service runs: acknowledged plants may be lost; ${advice}`;
  return Object.assign(new Error(message), { code: 'SQLITE_READONLY_OVERWRITTEN' });
}
