// @ts-check
// JavaScript, so that the thread can load it as it is: under Jest nothing compiles what a thread loads.
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** @typedef {import('./sqlite-thread.js').SqliteThreadData} Options */
/** @typedef {import('./sqlite-thread.js').SqliteThreadTask} Task */
/** @typedef {import('./sqlite-thread.js').SqliteThreadAnswer} Answer */
/** @typedef {import('better-sqlite3').Statement<string[], string>} Statement */

/** Milliseconds of one wait for a lock: SQLite's own cannot be broken off, and a process that exits meanwhile aborts. */
const WAIT = 100;

const { file, timeout, pragmas, abandoned } = /** @type {Options} */ (workerData);
const isAbandoned = new Int32Array(abandoned);
const database = new Database(file, { timeout: WAIT, fileMustExist: true });
for (const pragma of pragmas) database.pragma(pragma);

/** @type {Map<string, Statement>} The few statements that there are, by their text. */
const statements = new Map();

/**
 * @param {string} sql
 * @returns {Statement}
 */
function prepare(sql) {
  const statement = /** @type {Statement} */ (database.prepare(sql));
  if (statement.reader) statement.pluck();
  statements.set(sql, statement);
  return statement;
}

/**
 * @param {NonNullable<Task>} task
 * @returns {string[]}
 */
function run([sql, ...parameters]) {
  const statement = statements.get(sql) ?? prepare(sql);
  if (statement.reader) return statement.all(...parameters);
  statement.run(...parameters);
  return [];
}

/**
 * Runs a task, and waits while another connection holds the lock.
 *
 * @param {NonNullable<Task>} task
 * @returns {Answer}
 */
function answer(task) {
  const until = Date.now() + timeout;
  for (;;) {
    try {
      return { rows: run(task) };
    } catch (error) {
      const { code } = Object(error);
      const isOver = Date.now() >= until || Atomics.load(isAbandoned, 0) === 1;
      if (code !== 'SQLITE_BUSY' || isOver) return { message: String(error), code };
    }
  }
}

parentPort?.on('message', (/** @type {Task} */ task) => {
  if (task) return parentPort?.postMessage(answer(task));
  database.close();
  parentPort?.close();
});
