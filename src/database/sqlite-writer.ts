import { QueryFailedError, QueryResult, type DataSource, type EntityManager } from 'typeorm';
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import { BetterSqlite3QueryRunner } from 'typeorm/driver/better-sqlite3/BetterSqlite3QueryRunner.js';
import { describeError } from '../errors/describe.js';
import { Logger, WritePath } from './engine.js';
import {
  SqliteThread,
  type SqliteThreadOptions,
  type SqliteThreadResult,
} from './sqlite-thread.js';

/** Writes as much of the log back to the file as it can beside others who read and write. */
const CHECKPOINT = 'PRAGMA wal_checkpoint(PASSIVE)';

/** Pages in the log after which it is written back: 32 MB. */
const CHECKPOINT_AFTER_PAGES = 8_000;
const PAGE_BYTES = 4_096;

/** The exit code of an I/O error (sysexits.h). */
const EX_IOERR = 74;

/**
 * Where a sync fails, Linux forgets what was to be written, and the next sync succeeds without it
 * (wiki.postgresql.org/wiki/Fsync_Errors).
 */
const SYNC_FAILED = /^SQLITE_IOERR_(DIR_)?FSYNC$/;
/** One sync stands for all parts of a checkpoint, those of earlier tries too: an error in any spoils it. */
const WRITE_BACK_FAILED = /^SQLITE_IOERR/;

/**
 * TypeORM's query runner for SQLite, its statements sent to a thread. There is never a transaction of several
 * statements: a group that was committed within it would not be durable yet. A statement that returns no rows
 * gives undefined, not the last id that was generated.
 */
class ThreadQueryRunner extends BetterSqlite3QueryRunner {
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
      const { rows: json, changes } = await this.run(sql, parameters);
      const rows = json === undefined ? undefined : (JSON.parse(json) as unknown[]);
      if (!useStructuredResult) return rows as Result;
      const result = { raw: rows, records: rows ?? [], affected: changes };
      return Object.assign(new QueryResult(), result) as Result;
    } catch (error) {
      throw new QueryFailedError(sql, parameters, error as Error);
    }
  }

  override startTransaction(): Promise<never> {
    return Promise.reject(new Error('each statement on the thread is its own transaction'));
  }
}

/**
 * Writes on a thread with a connection of its own. TypeORM's driver for SQLite is synchronous: on the
 * main thread all would stand still while a commit waits for the disk, some 10 µs of the 14 that a
 * plant of a group of 64 takes here, and for as long as another process holds the write lock.
 */
export class SqliteWritePath extends WritePath {
  /** A second group would only wait for the first one's lock. */
  readonly concurrency = 1;
  readonly manager: EntityManager;
  private readonly logger = new Logger('Store');
  private readonly writer: SqliteThread;
  private readonly checkpointer: SqliteThread;
  /** Pages in the log, at most: plants of random ids touch one each, and long ones more. */
  private pages = 0;
  private checkpoint: Promise<void> | undefined;
  /** There, and never settled, once the process is ending, as {@link end} says. */
  private ending: Promise<never> | undefined;

  constructor(store: DataSource, options: SqliteThreadOptions) {
    super();
    this.writer = new SqliteThread(options);
    this.checkpointer = new SqliteThread(options);
    const run = this.run.bind(this);
    this.manager = store.createEntityManager(new ThreadQueryRunner(store, run));
  }

  override async abort(): Promise<void> {
    await this.checkpointer.abort();
    await this.writer.abort();
  }

  override async close(): Promise<void> {
    await this.checkpoint;
    await this.checkpointer.close();
    await this.writer.close();
    // Who waits for this closes the store next.
    await this.ending;
  }

  private async run(sql: string, parameters: readonly unknown[]): Promise<SqliteThreadResult> {
    await this.ending;
    try {
      const result = await this.writer.run(sql, parameters);
      await this.ending;
      if (!result.isReadOnly) this.addWritten(result.changes, parameters);
      return result;
    } catch (error) {
      if (SYNC_FAILED.test(readCode(error))) await this.end('the sync of a commit', error);
      throw error;
    }
  }

  /** A row of a random id is on a page of its own, and a long one on more. */
  private addWritten(rows: number, parameters: readonly unknown[]): void {
    const length = parameters.reduce<number>((sum, one) => sum + String(one).length, 0);
    this.pages += 1 + rows + length / PAGE_BYTES;
    if (this.pages >= CHECKPOINT_AFTER_PAGES) this.checkpoint ??= this.writeBack();
  }

  /**
   * Writes the log back to the file: most of it beside the commits that go on meanwhile, then the
   * rest between two of them, after which the log starts over. In SQLite's own way every commit would
   * wait for the whole, over 100 ms at 5 million plants.
   */
  private async writeBack(): Promise<void> {
    this.pages = 0;
    try {
      await this.checkpointer.run(CHECKPOINT);
      await this.writer.run(CHECKPOINT);
    } catch (error) {
      if (WRITE_BACK_FAILED.test(readCode(error))) await this.end('writing the log back', error);
      this.logger.warn(
        `the log was not written back, and is tried again later: ${describeError(error)}`,
      );
    }
    this.checkpoint = undefined;
  }

  /**
   * Ends the process, since nobody knows what of the file is on the disk; nobody is told a 200 any more. The
   * log has what the file may lack, and the next start writes all of it back. The last close of the file would
   * write back what SQLite still takes for missing, and then remove the log: there is none, as exit() ends the
   * threads but leaves the main thread's connection open.
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
