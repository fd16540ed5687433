import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Plant } from '../plants/plant.entity.js';
import type { Inserter } from './engine.js';
import { isAwayCode, StoreAwayError } from './store-away.js';

/** What the thread needs to open the store and to insert a group. */
export interface SqliteThreadOptions {
  /** Path of the database file. */
  readonly file: string;
  /** Milliseconds that a statement waits for another connection that holds the lock. */
  readonly timeout: number;
  readonly pragmas: readonly string[];
  /** Takes a group as a JSON text of `[id, name, tag]` rows, returns the ids that it inserted. */
  readonly insert: string;
}

/** The thread's answer to a group: the ids inserted, or SQLite's error and its code. */
export type SqliteThreadAnswer = { ids: string[] } | { message: string; code: unknown };

interface Group {
  readonly inserted: (ids: string[]) => void;
  readonly failed: (error: Error) => void;
}

/**
 * Inserts groups on a thread of their own, over a connection of its own. TypeORM's driver for SQLite
 * is synchronous: on the main thread all would stand still while a commit waits for the disk, some
 * 10 µs a plant, and much longer on a busy disk (see docs/performance.md).
 */
export class SqliteThread implements Inserter {
  private worker: Worker | undefined;
  /** Groups under way, the oldest first: the thread answers in order. */
  private groups: Group[] = [];

  constructor(private readonly options: SqliteThreadOptions) {}

  insert(plants: readonly Plant[]): Promise<string[]> {
    this.worker ??= this.start();
    const rows = plants.map(({ id, name, tag }) => [id, name, tag]);
    this.worker.postMessage(JSON.stringify(rows));
    return new Promise((inserted, failed) => this.groups.push({ inserted, failed }));
  }

  async close(): Promise<void> {
    if (!this.worker) return;
    this.worker.postMessage(null);
    await once(this.worker, 'exit');
  }

  private start(): Worker {
    const worker = new Worker(new URL('./sqlite-thread.worker.js', import.meta.url), {
      workerData: this.options,
      // It holds a group at a time, so little is young there; the default would take 48 MB.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    let cause: unknown;
    worker.on('message', (answer: SqliteThreadAnswer) => this.settle(answer));
    worker.on('error', (error) => (cause = error));
    worker.on('exit', () => this.abandon(cause));
    return worker;
  }

  private settle(answer: SqliteThreadAnswer): void {
    const group = this.groups.shift();
    if ('ids' in answer) group?.inserted(answer.ids);
    else if (isAwayCode(answer.code)) group?.failed(new StoreAwayError(answer.message));
    else group?.failed(new Error(answer.message));
  }

  /** The thread is gone, and what was under way may be stored or not; the next group starts another. */
  private abandon(cause: unknown): void {
    const groups = this.groups;
    this.groups = [];
    this.worker = undefined;
    const error = new StoreAwayError('the thread that writes to the store ended', { cause });
    for (const { failed } of groups) failed(error);
  }
}
