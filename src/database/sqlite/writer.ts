// The write path has TypeORM's statement run on a thread.
import { QueryFailedError, QueryResult, type DataSource, type EntityManager } from 'typeorm';
// The one file that uses parts of TypeORM which it does not document: its query runner for SQLite, which has no other
// point to send statements to a thread. writer.spec.ts fails if they change.
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import { BetterSqlite3QueryRunner } from 'typeorm/driver/better-sqlite3/BetterSqlite3QueryRunner.js';
import { describeError } from '../../errors/operator-message.js';
import { Logger, WritePath } from '../engine.js';
import {
  SqliteThread,
  type SqliteThreadOptions,
  type SqliteThreadResult,
} from './writer-thread.js';

/** Commits a page: writes a number of the file's header again, which nothing of ours reads. */
export const COMMIT_A_PAGE = 'PRAGMA user_version = 0';

/** Copies as much of the log into the file as readers and writers allow, and waits for none of them. */
const CHECKPOINT = 'PRAGMA wal_checkpoint(PASSIVE)';

/** Pages in the log after which a checkpoint runs: 32 MB. */
const CHECKPOINT_AFTER_PAGES = 8_000;
const PAGE_BYTES = 4_096;

/** The exit code of an I/O error (sysexits.h). */
const EX_IOERR = 74;

/**
 * The codes of a failed sync. Linux then drops the unwritten pages, and the next sync succeeds without them
 * (wiki.postgresql.org/wiki/Fsync_Errors).
 */
const SYNC_FAILED = /^SQLITE_IOERR_(DIR_)?FSYNC$/;
/** Of a checkpoint, which writes many parts and syncs once: an error in any part makes that sync useless. */
const CHECKPOINT_FAILED = /^SQLITE_IOERR/;

/**
 * Writes on a thread with a connection of its own: TypeORM's driver for SQLite is synchronous, and would block every
 * request while a commit waits for the disk, or for another process that holds the write lock.
 *
 * Checkpoints run in two steps: the checkpointer copies most of the log while commits go on, then the writer copies the
 * rest between two commits, and the log starts over. SQLite's own checkpoints would make commits wait for all of it
 * (docs/performance.md), and SQLite ignores their errors.
 */
export class SqliteWritePath extends WritePath {
  /** A second group would only wait for the first one's lock. */
  readonly concurrency = 1;
  readonly commitColumn = '';
  readonly manager: EntityManager;
  private readonly logger = new Logger('Store');
  private readonly writer: SqliteThread;
  private readonly checkpointer: SqliteThread;
  private readonly abandoned = new Int32Array(new SharedArrayBuffer(4));
  /** An estimate of the pages in the log, which is rather too high. */
  private pages = 0;
  private checkpoint: Promise<void> | undefined;
  /** Set by {@link end}, and never settled: whoever awaits it waits until the process is gone. */
  private ending: Promise<never> | undefined;

  constructor(store: DataSource, options: Omit<SqliteThreadOptions, 'abandoned'>) {
    super();
    this.writer = new SqliteThread({ ...options, abandoned: this.abandoned });
    this.checkpointer = new SqliteThread({ ...options, abandoned: this.abandoned });
    this.manager = store.createEntityManager(new ThreadQueryRunner(store, this.run.bind(this)));
  }

  override async probe(): Promise<void> {
    await this.manager.query(COMMIT_A_PAGE);
  }

  override async abort(): Promise<void> {
    Atomics.store(this.abandoned, 0, 1);
    await this.checkpointer.close();
    await this.writer.close();
  }

  override async close(): Promise<void> {
    await this.checkpoint;
    await this.checkpointer.close();
    await this.writer.close();
    // The caller closes the store next, and must not while the process ends: see end().
    await this.ending;
  }

  private async run(sql: string, parameters: readonly unknown[]): Promise<SqliteThreadResult> {
    try {
      const result = await this.writer.run(sql, parameters);
      await this.ending;
      this.addWritten(result.changes, parameters);
      return result;
    } catch (error) {
      if (SYNC_FAILED.test(readCode(error))) await this.end('the sync of a commit', error);
      throw error;
    }
  }

  /** Counts written pages, or a page too many: a row of a random id is on a page of its own, and a long row on more. */
  private addWritten(rows: number, parameters: readonly unknown[]): void {
    const length = parameters.reduce<number>((sum, one) => sum + String(one).length, 0);
    this.pages += 1 + rows + length / PAGE_BYTES;
    if (this.pages >= CHECKPOINT_AFTER_PAGES) this.checkpoint ??= this.runCheckpoint();
  }

  private async runCheckpoint(): Promise<void> {
    this.pages = 0;
    try {
      await this.checkpointer.run(CHECKPOINT);
      await this.writer.run(CHECKPOINT);
    } catch (error) {
      if (CHECKPOINT_FAILED.test(readCode(error))) await this.end('a checkpoint', error);
      this.logger.warn(`checkpoint failed, will be retried: ${describeError(error)}`);
    }
    this.checkpoint = undefined;
  }

  /**
   * Ends the process, because it is unknown what part of the file is on the disk. Nothing is acknowledged any more. The
   * next start copies the log into the file, so the log must stay. SQLite removes it when the last connection closes;
   * exit() ends the threads, but leaves the main thread's connection open.
   */
  private end(what: string, error: unknown): Promise<never> {
    if (!this.ending) {
      this.ending = new Promise(() => undefined);
      this.logger.fatal(
        `${what} failed (${readCode(error)}): the process ends, and the next start recovers the store from its log`,
      );
      void this.abortAndExit(EX_IOERR);
    }
    return this.ending;
  }
}

function readCode(error: unknown): string {
  return String((error as { code?: unknown }).code);
}

/** Converts bigints to numbers in the rows, where a double is exact. The driver by default converts all. */
export function narrowIntegers<Row>(rows: readonly Row[]): readonly Row[] {
  for (const row of rows as readonly Record<string, unknown>[]) {
    for (const [name, value] of Object.entries(row)) {
      if (typeof value === 'bigint' && Number.isSafeInteger(Number(value)))
        row[name] = Number(value);
    }
  }
  return rows;
}

/**
 * TypeORM's query runner for SQLite, with its statements sent to a thread. It refuses transactions of several
 * statements: a group within one would not be durable when its statement resolves. A statement that returns nothing
 * resolves to a row with the count of those that it changed, not to the last generated id.
 */
export class ThreadQueryRunner extends BetterSqlite3QueryRunner {
  constructor(
    store: DataSource,
    private readonly run: SqliteThread['run'],
  ) {
    super(store.driver as BetterSqlite3Driver);
  }

  /** @throws QueryFailedError whose driverError is what the thread rejects with */
  override async query<Result>(
    sql: string,
    parameters: unknown[] = [],
    useStructuredResult = false,
  ): Promise<Result> {
    try {
      const { rows, changes } = await this.run(sql, parameters);
      const found = rows && narrowIntegers(rows);
      if (!useStructuredResult) return (found ?? [{ count: changes }]) as Result;
      const result = { raw: found, records: found ?? [], affected: changes };
      return Object.assign(new QueryResult(), result) as Result;
    } catch (error) {
      throw new QueryFailedError(sql, parameters, error as Error);
    }
  }

  override startTransaction(): Promise<never> {
    return Promise.reject(new Error('each statement on the thread is its own transaction'));
  }
}
