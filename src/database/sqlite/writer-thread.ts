import { Worker } from 'node:worker_threads';
import { describeError } from '../../errors/operator-message.js';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import type { Expected } from './inspection.js';
import type { OpenedFile } from './place.js';

export interface SqliteThreadOptions {
  readonly file: string;
  /** A descriptor of the file, which is open for longer than the thread: exact-database.ts. */
  readonly descriptor: number;
  /** The ids that the file may have: log-owner.ts. Any, if there are none. */
  readonly ids: readonly number[];
  readonly opened: readonly OpenedFile[];
  /** For waiting until another connection releases the lock. */
  readonly timeoutMs: number;
  readonly pragmas: readonly string[];
  /** Shared memory: 1 once the thread is to wait for no lock any more. */
  readonly abandoned: Int32Array;
}

/** A statement and its parameters, an inspection, whose rows are findings, or a checkpoint; null asks the thread to end. */
export type SqliteThreadTask =
  | readonly [sql: string, ...parameters: unknown[]]
  | Readonly<{ inspect: Expected }>
  | 'checkpoint'
  | null;

/** The size of the write-ahead log in pages, and how many of them are in the file too; -1 while another process writes. */
export type LogSize = Readonly<{ log: number; checkpointed: number }>;

/** A statement that returns no rows has a row with the `count` of those that it changed. */
export type SqliteThreadResult = Readonly<{ rows: readonly unknown[]; log: LogSize }>;

export type SqliteThreadResponse = SqliteThreadResult | { message: string; code: unknown };

/** Runs statements in their order, each its own commit, on a thread with its own connection. */
export class SqliteThread {
  private worker: Worker | undefined;
  private isClosed = false;
  /** Tasks in flight, oldest first: the thread responds in order. */
  private pending: PromiseWithResolvers<SqliteThreadResult>[] = [];

  constructor(private readonly options: SqliteThreadOptions) {}

  /** @throws Error with SQLite's code; StoreUnavailableException if the thread ended */
  run(task: NonNullable<SqliteThreadTask>): Promise<SqliteThreadResult> {
    if (this.isClosed) return Promise.reject(new StoreUnavailableException('the store is closed'));
    this.worker ??= this.start();
    this.worker.postMessage(task);
    const outcome: PromiseWithResolvers<SqliteThreadResult> = Promise.withResolvers();
    this.pending.push(outcome);
    return outcome.promise;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    if (!this.worker) return;
    // Not events.once(), which rejects if the thread fails meanwhile.
    const { promise, resolve } = Promise.withResolvers<number>();
    this.worker.once('exit', resolve).postMessage(null satisfies SqliteThreadTask);
    await promise;
  }

  private start(): Worker {
    // The thread is a file of the same kind as this one: TypeScript under Jest.
    const url = new URL(import.meta.url.replace('writer-thread', 'writer.worker'));
    const worker = new Worker(url, {
      workerData: this.options,
      // Without NODE_OPTIONS: instrumentation that is loaded here would delay the first commit, for nothing.
      env: {},
      // It has one task at a time, so few of its objects are young.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    let cause: unknown;
    worker.on('message', (response: SqliteThreadResponse) => {
      const task = this.pending.shift();
      if ('rows' in response) task?.resolve(response);
      else task?.reject(Object.assign(new Error(response.message), { code: response.code }));
    });
    worker.on('error', (error) => (cause = error));
    worker.on('exit', () => {
      // It is unknown whether tasks in flight were committed. The next task starts another thread.
      this.worker = undefined;
      const reason = cause === undefined ? '' : `: ${describeError(cause)}`;
      const message = `the thread that writes to the store ended${reason}`;
      const error = new StoreUnavailableException(message, { cause });
      for (const { reject } of this.pending.splice(0)) reject(error);
    });
    return worker;
  }
}
