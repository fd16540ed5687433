/**
 * The thread of writer-thread.ts: it has a connection of its own, and runs one task after the other.
 *
 * 1. It opens the file while each name leads to what the main thread has opened, and looks before and behind that: closing
 *    another file would play our log back into it.
 * 2. A statement is a commit of its own. Behind it the names are looked at again, as SQLite goes on writing to a file that was
 *    removed. Once one has lost its file, nothing more is written until it is back: a copy that somebody makes stays whole.
 *    Nothing is written to files that were overwritten, either.
 * 3. An inspection reads all that inspection.ts says of a store.
 * 4. A checkpoint copies the log into the file: only if both are the store's own, and in their places.
 *
 * Under Jest, which compiles nothing that a thread loads, Node.js strips the types, and finds no other file by the name that
 * it is compiled to: so other files are loaded by the kind of this one.
 */
import { openSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import Database, { type Statement } from 'better-sqlite3';
import type * as ContentModule from './content.js';
import type { Finding } from '../store-errors.js';
import type * as Inspection from './inspection.js';
import type * as Place from './place.js';
import type * as PutBack from './put-back.js';
import type {
  LogSize,
  SqliteThreadOptions,
  SqliteThreadResponse,
  SqliteThreadTask,
} from './writer-thread.js';

const load = <Module>(name: string) =>
  import(import.meta.url.replace('writer.worker', name)) as Promise<Module>;
const { Content, describeOverwritten } = await load<typeof ContentModule>('content');
const { inspectBySql, inspectId, inspectLogMode, readIndexes } =
  await load<typeof Inspection>('inspection');
const { findMisplaced, isInPlace } = await load<typeof Place>('place');
const { describeMoved, moveAside } = await load<typeof PutBack>('put-back');

/** SQLite's own wait for a lock cannot be aborted, and a process that exits meanwhile aborts. */
const LOCK_WAIT_MS = 100;
/** Waits for no readers or writers. */
const CHECKPOINT = 'PRAGMA wal_checkpoint(PASSIVE)';
/** Reads the size of the log (sqlite.org/pragma.html). */
const READ_LOG_SIZE = 'PRAGMA wal_checkpoint(NOOP)';

const { file, descriptor, ids, opened, timeoutMs, pragmas, abandoned } =
  workerData as SqliteThreadOptions;
/** The log is opened last. */
const place: Place.OpenStore = { file, opened, descriptor };
let isMisplaced = false;

assertInPlace();
const database = new Database(file, { timeout: LOCK_WAIT_MS, fileMustExist: true });
assertInPlace();
for (const pragma of pragmas) database.pragma(pragma);
assertInPlace();

const statements = new Map<string, Statement>();
const readLogSize = database.prepare<[], LogSize>(READ_LOG_SIZE);
const log = openSync(`${file}-wal`, 'r');
place.log = log;
const pageSize = database.pragma('page_size', { simple: true }) as number;
const content = new Content({ descriptor, log, pageSize, ids, awaitLogSize });
// What is cut from now on shows.
content.findOverwritten();
const list = <Row>(sql: string, ...parameters: readonly unknown[]) =>
  prepare(sql).all(...parameters) as Row[];

parentPort?.on('message', (task: SqliteThreadTask) => {
  if (task) return parentPort?.postMessage(runTask(task));
  database.close();
  parentPort?.close();
});

/** Runs a task, and waits while another connection holds the lock. */
function runTask(task: NonNullable<SqliteThreadTask>): SqliteThreadResponse {
  const until = performance.now() + timeoutMs;
  for (;;) {
    try {
      if (typeof task === 'object' && 'inspect' in task)
        return { rows: inspect(task.inspect), log: awaitLogSize() };
      const isCheckpoint = task === 'checkpoint';
      if (isCheckpoint || content.isOverwritten) assertOwnContent();
      if (isCheckpoint || isMisplaced) assertInPlace();
      const [sql, ...parameters] = isCheckpoint ? [CHECKPOINT] : task;
      const rows = runStatement(sql, parameters);
      assertInPlace();
      return { rows, log: readLogSize.get() ?? { log: 0, checkpointed: 0 } };
    } catch (error) {
      const { code } = Object(error) as { code?: unknown };
      const isOver = performance.now() >= until || Atomics.load(abandoned, 0) === 1;
      if (code !== 'SQLITE_BUSY' || isOver)
        return { message: Error.isError(error) ? error.message : String(error), code };
    }
  }
}

function runStatement(sql: string, parameters: readonly unknown[]): readonly unknown[] {
  const statement = prepare(sql);
  if (statement.reader) return statement.all(...parameters);
  return [{ count: statement.run(...parameters).changes }];
}

function prepare(sql: string): Statement {
  const statement = statements.get(sql) ?? database.prepare(sql);
  statements.set(sql, statement);
  return statement;
}

/** Finds what the store lacks. What others have written to its files comes first: SQLite could make no sense of them. */
function inspect(expected: Inspection.Expected): readonly Finding[] {
  const overwritten = findOverwritten();
  if (overwritten) return [overwritten];
  const misplaced = findMisplaced(place, describeMoved);
  isMisplaced = misplaced !== undefined;
  readIndexes(list, expected);
  return [
    ...(misplaced ? [misplaced] : []),
    ...inspectId(list, file, ids),
    ...inspectLogMode(list),
    ...inspectBySql(list, expected),
  ];
}

function findOverwritten() {
  const suffix = content.findOverwritten();
  return suffix === undefined
    ? undefined
    : describeOverwritten(
        file,
        suffix,
        content.isDatabase ? moveAside(`${file}-wal`, 'old') : undefined,
      );
}

/** @throws Error with a code that is no one of SQLite's, but starts as that of a file that was moved */
function assertOwnContent(): void {
  const found = findOverwritten();
  if (found) throw makeError(found, 'SQLITE_READONLY_OVERWRITTEN');
}

/** @throws Error with SQLite's code */
function assertInPlace(): void {
  try {
    isMisplaced = !opened.every(isInPlace);
  } catch {
    // The reason is found below.
    isMisplaced = true;
  }
  if (!isMisplaced) return;
  const found = findMisplaced(place, describeMoved);
  // It may be back by now.
  if (found) throw makeError(found, 'SQLITE_READONLY_DBMOVED');
}

/** @throws Error with SQLite's code if another process does not end writing to the log's index */
function awaitLogSize(): LogSize {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const size = readLogSize.get();
    // -1 meanwhile.
    if (size && size.log >= 0) return size;
    if (Atomics.wait(abandoned, 0, 0, 1) === 'not-equal' || performance.now() >= until)
      throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
  }
}

function makeError({ what, remedy }: Finding, code: string): Error {
  return Object.assign(new Error(`${what}: ${remedy}`), { code });
}
