// The thread of writer-thread.ts. Under Jest, which compiles nothing that a thread loads, Node.js strips the types.
import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import Database, { type Statement } from 'better-sqlite3';
import type { OpenedFile } from './files.js';
import type {
  LogSize,
  SqliteThreadOptions,
  SqliteThreadResponse,
  SqliteThreadResult,
  SqliteThreadTask,
} from './writer-thread.js';

/** SQLite's own wait for a lock cannot be aborted, and a process that exits meanwhile aborts. */
const LOCK_WAIT_MS = 100;

const { file, opened, timeoutMs, pragmas, abandoned } = workerData as SqliteThreadOptions;
// Checked before it is opened, and again before SQLite reads it: closing another file would play our log back into it.
assertOpened();
const database = new Database(file, { timeout: LOCK_WAIT_MS, fileMustExist: true });
assertOpened();
for (const pragma of pragmas) database.pragma(pragma);
assertOpened();

const statements = new Map<string, Statement>();
// READ_LOG_SIZE of writer-thread.ts.
const readLogSize = database.prepare('PRAGMA wal_checkpoint(NOOP)');

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
      const result = runStatement(sql, parameters);
      assertOpened();
      return { ...result, log: readLogSize.get() as LogSize };
    } catch (error) {
      const { code } = Object(error) as { code?: unknown };
      const isOver = performance.now() >= until || Atomics.load(abandoned, 0) === 1;
      if (code !== 'SQLITE_BUSY' || isOver)
        return { message: Error.isError(error) ? error.message : String(error), code };
    }
  }
}

function runStatement(
  sql: string,
  parameters: readonly unknown[],
): Omit<SqliteThreadResult, 'log'> {
  const statement = statements.get(sql) ?? database.prepare(sql);
  statements.set(sql, statement);
  if (!statement.reader) return { changes: statement.run(...parameters).changes };
  const rows = statement.all(...parameters);
  return { rows, changes: statement.readonly ? 0 : rows.length };
}

/** After each commit: SQLite goes on writing to a file that was removed. @throws Error with SQLite's code */
function assertOpened(): void {
  const moved = opened.find((file) => !isInPlace(file));
  if (!moved) return;
  const advice =
    moved.path === file
      ? `to keep what is there now, stop the service, and remove ${file}-wal and ${file}-shm`
      : 'restart the service';
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
