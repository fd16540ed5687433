// @ts-check
// JavaScript, so that the thread can load it as it is: under Jest nothing compiles what a thread loads.
import { statSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** @typedef {import('./sqlite-thread.js').SqliteThreadData} Options */
/** @typedef {import('./sqlite-thread.js').SqliteThreadTask} Task */
/** @typedef {import('./sqlite-thread.js').SqliteThreadAnswer} Answer */
/** @typedef {import('./sqlite-thread.js').SqliteThreadResult} Result */
/** @typedef {import('better-sqlite3').Statement<unknown[], object>} Statement */

/** Milliseconds of one wait for a lock: SQLite's own cannot be aborted, and a process that exits meanwhile aborts. */
const WAIT = 100;
/** Prepared statements that are kept: a builder may make any number of texts. */
const MAX_STATEMENTS = 100;
/** Milliseconds after which a folder's time of change is sure to differ from that of the next one. */
const SETTLED = 1_000;

/** When the folder had last changed, in nanoseconds since 1970, as the log and its index in it were found. */
let folderSeen = 0n;
const { file, opened, timeout, pragmas, abandoned } = /** @type {Options} */ (workerData);
const isAbandoned = new Int32Array(abandoned);
// Twice: nothing is done to another file, and none that came in between is kept open.
assertOpened();
const database = new Database(file, { timeout: WAIT, fileMustExist: true });
for (const pragma of pragmas) database.pragma(pragma);
assertOpened();

/** @type {Map<string, Statement>} By their text. */
const statements = new Map();

/**
 * @param {string} sql
 * @returns {Statement}
 */
function prepare(sql) {
  if (statements.size >= MAX_STATEMENTS) statements.clear();
  const statement = /** @type {Statement} */ (database.prepare(sql));
  statements.set(sql, statement);
  return statement;
}

/**
 * @param {NonNullable<Task>} task
 * @returns {Result}
 */
function run([sql, ...parameters]) {
  const statement = statements.get(sql) ?? prepare(sql);
  const isReadOnly = statement.readonly;
  if (!statement.reader) {
    const { changes } = statement.run(...parameters);
    return { rows: undefined, changes, isReadOnly };
  }
  const rows = statement.all(...parameters);
  return { rows: JSON.stringify(rows), changes: isReadOnly ? 0 : rows.length, isReadOnly };
}

/**
 * SQLite goes on writing to a file that was removed, and looks for that only where it has no log. So it
 * is looked for after each commit, before anyone is told: two calls of 5 µs. The files beside it only where their
 * folder has changed: since Linux 6.13 the next write to the log after a stat of its times changes
 * them, and the sync then has the file's metadata to write, 90 µs of 500.
 *
 * @throws Error with SQLite's code where a path leads to another file than the service opened, or to none
 */
function assertOpened() {
  if (!opened) return;
  assertSame(opened.database);
  const changed = statSync(opened.folder, { bigint: true }).ctimeNs;
  if (changed === folderSeen) return;
  opened.beside.forEach(assertSame);
  // Within a tick of the clock another change would look the same.
  if (changed < BigInt(Date.now() - SETTLED) * 1_000_000n) folderSeen = changed;
}

/**
 * What is at a path; undefined where nothing is, or where no one may look.
 *
 * @param {string} path
 */
function statOf(path) {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}

/** @param {import('./sqlite-thread.js').OpenedFile} file */
function assertSame({ path, dev, ino }) {
  const now = statOf(path);
  if (now?.ino === ino && now.dev === dev) return;
  const message = `${path} was removed or replaced while the service runs: put it back, or restart the service`;
  throw Object.assign(new Error(message), { code: 'SQLITE_READONLY_DBMOVED' });
}

/**
 * Runs a task, and waits while another connection holds the lock.
 *
 * @param {NonNullable<Task>} task
 * @returns {Answer}
 */
function answer(task) {
  const until = performance.now() + timeout;
  for (;;) {
    try {
      const result = run(task);
      assertOpened();
      return result;
    } catch (error) {
      const { code } = Object(error);
      const isOver = performance.now() >= until || Atomics.load(isAbandoned, 0) === 1;
      if (code !== 'SQLITE_BUSY' || isOver)
        return { message: Error.isError(error) ? error.message : String(error), code };
    }
  }
}

parentPort?.on('message', (/** @type {Task} */ task) => {
  if (task) return parentPort?.postMessage(answer(task));
  database.close();
  parentPort?.close();
});
