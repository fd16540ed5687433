// @ts-check
// JavaScript, so that the thread can load it as it is: under Jest nothing compiles what a thread loads.
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** @typedef {import('./sqlite-thread.js').SqliteThreadOptions} Options */
/** @typedef {import('./sqlite-thread.js').SqliteThreadAnswer} Answer */

const { file, timeout, pragmas, insert } = /** @type {Options} */ (workerData);
const database = new Database(file, { timeout, fileMustExist: true });
for (const pragma of pragmas) database.pragma(pragma);
/** @type {import('better-sqlite3').Statement<[string], string>} */
const statement = database.prepare(insert);
statement.pluck();

/**
 * @param {string} rows
 * @returns {Answer}
 */
function run(rows) {
  try {
    return { ids: statement.all(rows) };
  } catch (error) {
    return { message: String(error), code: Object(error).code };
  }
}

parentPort?.on('message', (/** @type {string | null} */ rows) => {
  if (rows !== null) return parentPort?.postMessage(run(rows));
  database.close();
  parentPort?.close();
});
