// @ts-check
// JavaScript, so that the thread can load it as it is: under Jest nothing compiles what a thread loads.
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** @typedef {import('./sqlite-thread.js').SqliteThreadOptions} Options */
/** @typedef {import('./sqlite-thread.js').SqliteThreadTask} Task */
/** @typedef {import('./sqlite-thread.js').SqliteThreadAnswer} Answer */
/** @typedef {import('better-sqlite3').Statement<string[], string>} Statement */

const { file, timeout, pragmas } = /** @type {Options} */ (workerData);
const database = new Database(file, { timeout, fileMustExist: true });
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
 * @returns {Answer}
 */
function run([sql, ...parameters]) {
  try {
    const statement = statements.get(sql) ?? prepare(sql);
    if (statement.reader) return { rows: statement.all(...parameters) };
    statement.run(...parameters);
    return { rows: [] };
  } catch (error) {
    return { message: String(error), code: Object(error).code };
  }
}

parentPort?.on('message', (/** @type {Task} */ task) => {
  if (task) return parentPort?.postMessage(run(task));
  database.close();
  parentPort?.close();
});
