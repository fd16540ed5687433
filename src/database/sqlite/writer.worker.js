// @ts-check
// A create, step 11 of 13, on SQLite (3 of 3): runs the statement, which is a commit of its own.
// JavaScript, as Jest does not compile what a thread loads.
import { statSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** @typedef {import('./writer-thread.js').SqliteThreadData} Options */
/** @typedef {import('./writer-thread.js').SqliteThreadTask} Task */
/** @typedef {import('./writer-thread.js').SqliteThreadResponse} Response */
/** @typedef {import('./writer-thread.js').SqliteThreadResult} Result */
/** @typedef {import('better-sqlite3').Statement<unknown[], object>} Statement */

/** SQLite's own wait for a lock cannot be aborted, and a process that exits meanwhile aborts. */
const LOCK_WAIT_MS = 100;
/** Prepared statements that are kept: a builder may make any number of texts. */
const MAX_STATEMENTS = 100;

const { file, opened, timeoutMs, pragmas, abandoned } = /** @type {Options} */ (workerData);
// Checked before it is opened, so that no other file is touched, and after, in case it was replaced meanwhile.
assertOpened();
const database = new Database(file, { timeout: LOCK_WAIT_MS, fileMustExist: true });
// A double does not represent every int64.
database.defaultSafeIntegers();
for (const pragma of pragmas) database.pragma(pragma);
assertOpened();

/** @type {Map<string, Statement>} By their text. */
const statements = new Map();

/** @param {NonNullable<Task>} task @returns {Result} */
function runStatement([sql, ...parameters]) {
  if (statements.size >= MAX_STATEMENTS) statements.clear();
  const statement = statements.get(sql) ?? /** @type {Statement} */ (database.prepare(sql));
  statements.set(sql, statement);
  if (!statement.reader) return { rows: undefined, changes: statement.run(...parameters).changes };
  const rows = statement.all(...parameters);
  return { rows, changes: statement.readonly ? 0 : rows.length };
}

/**
 * Checks that each file is still at its path. SQLite goes on writing to a file that was removed, and checks that only
 * if the file has no log. So this runs after each commit, before its response.
 *
 * @throws Error with SQLite's code if a path leads to another file than the service opened, or to none
 */
function assertOpened() {
  const moved = opened.find((file) => !isInPlace(file));
  if (!moved) return;
  const message = `${moved.path} was removed or replaced while the service runs: put it back, or restart the service`;
  throw Object.assign(new Error(message), { code: 'SQLITE_READONLY_DBMOVED' });
}

/** @param {import('./files.js').OpenedFile} file */
function isInPlace({ path, dev, ino }) {
  try {
    const found = statSync(path, { bigint: true });
    return found.ino === ino && found.dev === dev;
  } catch {
    return false;
  }
}

/** Runs a task, and waits while another connection holds the lock. @param {NonNullable<Task>} task @returns {Response} */
function runTask(task) {
  const until = performance.now() + timeoutMs;
  for (;;) {
    try {
      const result = runStatement(task);
      assertOpened();
      return result;
    } catch (error) {
      const { code } = Object(error);
      const isOver = performance.now() >= until || Atomics.load(abandoned, 0) === 1;
      if (code !== 'SQLITE_BUSY' || isOver)
        return { message: Error.isError(error) ? error.message : String(error), code };
    }
  }
}

parentPort?.on('message', (/** @type {Task} */ task) => {
  if (task) return parentPort?.postMessage(runTask(task));
  database.close();
  parentPort?.close();
});
