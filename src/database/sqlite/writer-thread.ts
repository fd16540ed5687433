import { Worker } from 'node:worker_threads';
import { describeError } from '../../errors/operator-message.js';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import type { Expected } from './inspection.js';
import type { OpenedFile } from './place.js';

export interface SqliteThreadOptions {
  readonly file: string;
  /** A descriptor of the file, which is open for longer than the thread: see exact-database.ts. */
  readonly descriptor: number;
  /** The ids that the file may have (log-owner.ts); if there are none, any. */
  readonly ids: readonly number[];
  /** The files of the store, each of which must stay in its place. */
  readonly opened: readonly OpenedFile[];
  /** How long a task waits until another connection releases the lock. */
  readonly timeoutMs: number;
  readonly pragmas: readonly string[];
  /** Shared memory that is 1 once the thread must not wait for locks any more. */
  readonly abandoned: Int32Array;
}

/** A mode of a checkpoint (sqlite.org/pragma.html): FULL locks writers out meanwhile, and waits for readers of older pages. */
type CheckpointMode = 'PASSIVE' | 'FULL';

/** A statement with its parameters, an inspection, whose rows are findings, or a checkpoint. */
export type SqliteThreadTask =
  | readonly [sql: string, ...parameters: unknown[]]
  | Readonly<{ inspect: Expected }>
  | CheckpointMode;

/** The size of the log in pages, and how many of them are in the file too; -1 while another process writes to its index. */
export type LogSize = Readonly<{ log: number; checkpointed: number }>;

/** A statement that returns no rows has one row here, with the `count` of those that it changed. */
export type SqliteThreadResult = Readonly<{ rows: readonly unknown[]; log: LogSize }>;

export type SqliteThreadResponse = SqliteThreadResult | { message: string; code: unknown };

/** A thread that writes to the store (writer.worker.ts), and runs its tasks in their order. The first task starts it. */
export class SqliteThread {
  private worker: Worker | undefined;
  private isClosed = false;
  /** Tasks in flight, oldest first: the thread responds in order. */
  private pending: PromiseWithResolvers<SqliteThreadResult>[] = [];

  constructor(private readonly options: SqliteThreadOptions) {}

  /** @throws Error with SQLite's code; StoreUnavailableException if the thread ended */
  run(task: SqliteThreadTask): Promise<SqliteThreadResult> {
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
    // The thread ends at null instead of a task. events.once() would reject if it fails meanwhile.
    const { promise, resolve } = Promise.withResolvers<number>();
    this.worker.once('exit', resolve).postMessage(null);
    await promise;
  }

  private start(): Worker {
    // The thread is a file of the same kind as this one: TypeScript under Jest.
    const url = new URL(import.meta.url.replace('writer-thread', 'writer.worker'));
    const worker = new Worker(url, {
      workerData: this.options,
      // NODE_OPTIONS may load instrumentation, which would only delay the first commit.
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
