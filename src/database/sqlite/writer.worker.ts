/**
 * A thread that writes to a store on SQLite. writer.ts starts two of them: the committer gets statements, inspections and
 * checkpoints, the checkpointer checkpoints only. A checkpoint copies the log (the file `-wal`, to which commits go) into the
 * store's file. Each thread has a connection of its own, and runs one task after the other; the message `null` closes it.
 *
 * 1. It opens the file by its name, and checks before and after that each name leads to what the main thread has opened: SQLite
 *    would copy the log into whatever file has the name. (The thread's close copies nothing, as the main thread's connection
 *    is still open.)
 * 2. A statement is a commit of its own. Before it is acknowledged the names are checked again: SQLite goes on writing to a
 *    file that was moved or removed, where the next start would not find the commit. From then on the thread refuses each
 *    statement before it runs, until the names lead to the files again: whoever copies the moved file gets it whole.
 * 3. Before each checkpoint and at each inspection it checks whether somebody else has written to the files (content.ts). If so,
 *    it refuses the checkpoint, and from then on its statements, for good: two stores would be mixed.
 * 4. While another connection holds SQLite's lock, a task is tried again until its time is over, or the process is to exit.
 * 5. Each response has the size of the log, as a checkpoint begins once it has grown. A statement's client does not wait for it:
 *    it is read after the response, for the next one.
 *
 * The tests have this file as TypeScript, which Node.js runs by leaving the types out. It resolves no `.js` to a `.ts`: so this
 * file and those that it loads name each other with `.ts`, and import nothing but types from any other file of src.
 */
import { openSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import Database, { type Statement } from 'better-sqlite3';
import { unsafe, type Finding } from '../finding.ts';
import { Content } from './content.ts';
import { inspectBySql, inspectId, inspectLogMode, readIndexes } from './inspection.ts';
import type { Expected } from './inspection.ts';
import { findAlias, isInPlace } from './place.ts';
import { describeMoved, type OpenStore } from './put-back.ts';
import type {
  LogSize,
  SqliteThreadOptions,
  SqliteThreadResponse,
  SqliteThreadTask,
} from './writer-thread.ts';

/** SQLite's own wait for a lock is short: nothing interrupts it, and a process that exits meanwhile crashes. */
const LOCK_WAIT_MS = 100;
/** Reads the size of the log (sqlite.org/pragma.html). */
const READ_LOG_SIZE = 'PRAGMA wal_checkpoint(NOOP)';

const { file, descriptor, ids, opened, timeoutMs, pragmas, abandoned } =
  workerData as SqliteThreadOptions;
const store: OpenStore = { file, descriptor };
let isMisplaced = false;

assertInPlace();
const database = new Database(file, { timeout: LOCK_WAIT_MS, fileMustExist: true });
assertInPlace();
for (const pragma of pragmas) database.pragma(pragma);
assertInPlace();

const statements = new Map<string, Statement>();
const logSizeStatement = database.prepare<[], LogSize>(READ_LOG_SIZE);
const log = (store.log = openSync(`${file}-wal`, 'r'));
const pageSize = database.pragma('page_size', { simple: true }) as number;
const content = new Content({ file, descriptor, log, pageSize, ids, awaitLogSize });
// The first check records what later ones compare the files with.
content.findOverwritten();
const list = <Row>(sql: string, ...parameters: readonly unknown[]) =>
  prepare(sql).all(...parameters) as Row[];

/** The size of the log after the task before. */
let logSize: LogSize = { log: 0, checkpointed: 0 };

parentPort?.on('message', (task: SqliteThreadTask | null) => {
  if (task) {
    parentPort?.postMessage(runTask(task));
    readLogSize();
    return;
  }
  database.close();
  parentPort?.close();
});

function readLogSize(): LogSize {
  try {
    logSize = logSizeStatement.get() ?? logSize;
  } catch {
    // It stays unknown until the next task, which reports an error that stays.
  }
  return logSize;
}

/** Runs a task, and waits while another connection holds the lock. */
function runTask(task: SqliteThreadTask): SqliteThreadResponse {
  const until = performance.now() + timeoutMs;
  for (;;) {
    try {
      return tryTask(task);
    } catch (error) {
      const { code } = Object(error) as { code?: unknown };
      const hasTime = performance.now() < until && Atomics.load(abandoned, 0) === 0;
      if (code !== 'SQLITE_BUSY' || !hasTime)
        return { message: Error.isError(error) ? error.message : String(error), code };
    }
  }
}

function tryTask(task: SqliteThreadTask): SqliteThreadResponse {
  if (typeof task === 'object' && 'inspect' in task)
    return { rows: inspect(task.inspect), log: awaitLogSize() };
  const isCheckpoint = typeof task === 'string';
  const overwritten = isCheckpoint || content.isOverwritten ? content.findOverwritten() : undefined;
  // A code of our own, which begins as SQLite's code of a file that was moved.
  if (overwritten) throw makeError(overwritten, 'SQLITE_READONLY_OVERWRITTEN');
  if (isCheckpoint || isMisplaced) assertInPlace();
  const [sql, ...parameters] = isCheckpoint ? [`PRAGMA wal_checkpoint(${task})`] : task;
  const statement = prepare(sql);
  const rows = statement.reader
    ? statement.all(...parameters)
    : [{ count: statement.run(...parameters).changes }];
  assertInPlace();
  return { rows, log: isCheckpoint ? readLogSize() : logSize };
}

function prepare(sql: string): Statement {
  const statement = statements.get(sql) ?? database.prepare(sql);
  statements.set(sql, statement);
  return statement;
}

/** Finds what the store lacks. SQLite might not be able to read files that others have written to: these are found first. */
function inspect(expected: Expected): readonly Finding[] {
  const overwritten = content.findOverwritten();
  if (overwritten) return [overwritten];
  const misplaced = findMisplaced();
  isMisplaced = misplaced !== undefined;
  readIndexes(list, expected);
  return [
    ...(misplaced ? [misplaced] : []),
    ...inspectId(list, file, ids),
    ...inspectLogMode(list),
    ...inspectBySql(list, expected),
  ];
}

/** Finds a file with a second name, or with another file in its place. */
function findMisplaced(): Finding | undefined {
  const alias = findAlias(file);
  if (alias) return alias;
  try {
    const moved = opened.find((each) => !isInPlace(each));
    return moved && describeMoved(moved, store);
  } catch (error) {
    return unsafe((error as Error).message, "let the service's user reach it again");
  }
}

/** @throws Error with SQLite's code */
function assertInPlace(): void {
  try {
    isMisplaced = !opened.every(isInPlace);
  } catch {
    // findMisplaced() meets the same error, and reports it.
    isMisplaced = true;
  }
  if (!isMisplaced) return;
  // The file may be back by now.
  const found = findMisplaced();
  if (found) throw makeError(found, 'SQLITE_READONLY_DBMOVED');
}

/** @throws Error with SQLite's code if another process does not end writing to the log's index */
function awaitLogSize(): LogSize {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const size = logSizeStatement.get();
    // The size is -1 while another process writes to the index.
    if (size && size.log >= 0) return size;
    if (Atomics.wait(abandoned, 0, 0, 1) === 'not-equal' || performance.now() >= until)
      throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
  }
}

function makeError({ what, remedy }: Finding, code: string): Error {
  return Object.assign(new Error(`${what}: ${remedy}`), { code });
}
