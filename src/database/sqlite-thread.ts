import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describeError } from '../errors/describe.js';
import { StoreUnavailable } from '../errors/errors.js';

/** A file that the service has open. */
export interface OpenedFile {
  readonly path: string;
  /** Its device and its number there: what it is, whatever its path. */
  readonly dev: bigint;
  readonly ino: bigint;
}

/** What the thread needs to open the store. */
export interface SqliteThreadOptions {
  /** Path of the database file. */
  readonly file: string;
  /**
   * The database file, and its log and the log's index beside it, as they were when the store was opened:
   * no others will do. Undefined in memory.
   */
  readonly opened:
    | {
        readonly database: OpenedFile;
        readonly beside: readonly OpenedFile[];
        readonly folder: string;
      }
    | undefined;
  /** Milliseconds that a statement waits for another connection that holds the lock. */
  readonly timeout: number;
  readonly pragmas: readonly string[];
}

/** What the thread is given: besides, a 32-bit integer that becomes 1 where it is to wait no more. */
export type SqliteThreadData = SqliteThreadOptions & { readonly abandoned: SharedArrayBuffer };

/** A statement and its parameters; null asks the thread to end. */
export type SqliteThreadTask = readonly [sql: string, ...parameters: unknown[]] | null;

/**
 * The outcome of a statement: the rows of one that returns any, as JSON, and how many it changed. 64 ids take 17 µs
 * of CPU from thread to thread so, and 60 as objects (same run).
 */
export interface SqliteThreadResult {
  readonly rows: string | undefined;
  readonly changes: number;
  /** Whether nothing can have been written. */
  readonly isReadOnly: boolean;
}

/** The thread's answer to a task: its outcome, or SQLite's error and its code. */
export type SqliteThreadAnswer = SqliteThreadResult | { message: string; code: unknown };

interface Pending {
  readonly resolve: (result: SqliteThreadResult) => void;
  readonly reject: (error: Error) => void;
}

/** Runs statements on a thread with a connection of its own, in their order, each its own commit. */
export class SqliteThread {
  private worker: Worker | undefined;
  private isClosed = false;
  /** Tasks in flight, the oldest first: the thread answers in order. */
  private pending: Pending[] = [];

  private readonly abandoned = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);

  constructor(private readonly options: SqliteThreadOptions) {}

  /**
   * Runs a statement.
   *
   * @throws Error with SQLite's code, which toStoreError() tells apart; StoreUnavailable where the thread has ended
   */
  run(sql: string, parameters: readonly unknown[] = []): Promise<SqliteThreadResult> {
    if (this.isClosed) return Promise.reject(new StoreUnavailable('the store is closed'));
    this.worker ??= this.start();
    const task: SqliteThreadTask = [sql, ...parameters];
    this.worker.postMessage(task);
    return new Promise((resolve, reject) => this.pending.push({ resolve, reject }));
  }

  /** Ends the thread, once it has done what it was given. */
  async close(): Promise<void> {
    this.isClosed = true;
    if (!this.worker) return;
    this.worker.postMessage(null satisfies SqliteThreadTask);
    await once(this.worker, 'exit');
  }

  /** Waits for no lock any more; resolves once every task in flight has come to its end. */
  async abort(): Promise<void> {
    Atomics.store(new Int32Array(this.abandoned), 0, 1);
    await this.close();
  }

  private start(): Worker {
    const worker = new Worker(new URL('./sqlite-thread.worker.js', import.meta.url), {
      workerData: { ...this.options, abandoned: this.abandoned } satisfies SqliteThreadData,
      // It holds a task at a time, so little is young there; the default would take 48 MB.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    let cause: unknown;
    worker.on('message', (answer: SqliteThreadAnswer) => this.settle(answer));
    worker.on('error', (error) => (cause = error));
    worker.on('exit', () => this.fail(cause));
    return worker;
  }

  private settle(answer: SqliteThreadAnswer): void {
    const task = this.pending.shift();
    if ('changes' in answer) return task?.resolve(answer);
    const { message, code } = answer;
    task?.reject(Object.assign(new Error(message), { code }));
  }

  /** The thread is gone, and what was in flight may be stored or not; the next task starts another. */
  private fail(cause: unknown): void {
    const pending = this.pending;
    this.pending = [];
    this.worker = undefined;
    const reason = cause === undefined ? '' : `: ${describeError(cause)}`;
    const error = new StoreUnavailable(`the thread that writes to the store ended${reason}`, {
      cause,
    });
    for (const { reject } of pending) reject(error);
  }
}
