// A create, step 11 of 13, on SQLite (2 of 4): the write path runs the statement on a thread.
import type { DataSource, EntityManager } from 'typeorm';
import { describeError } from '../../errors/operator-message.js';
import { Logger, WritePath } from '../engine.js';
import { ThreadQueryRunner } from './query-runner.js';
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
/** A checkpoint writes many parts, over several tries, and then syncs once. An error in any part makes that sync useless. */
const CHECKPOINT_FAILED = /^SQLITE_IOERR/;

/**
 * Writes on a thread with a connection of its own. TypeORM's driver for SQLite is synchronous: on the main thread it
 * would block every request while a commit waits for the disk, or for another process that holds the write lock.
 *
 * Checkpoints run in two steps: the checkpointer copies most of the log while commits go on, then the writer copies the
 * rest between two commits, and the log starts over. SQLite's own checkpoints (`wal_autocheckpoint`) would make commits
 * wait for all of it, which takes seconds on many disks (docs/performance.md), and SQLite ignores their errors.
 */
export class SqliteWritePath extends WritePath {
  /** A second group would only wait for the first one's lock. */
  readonly concurrency = 1;
  readonly commitColumn = '';
  readonly manager: EntityManager;
  private readonly logger = new Logger('Store');
  private readonly writer: SqliteThread;
  private readonly checkpointer: SqliteThread;
  /** An estimate of the pages in the log, which is rather too high. */
  private pages = 0;
  private checkpoint: Promise<void> | undefined;
  /** Set by {@link end}, and never settled: whoever awaits it waits until the process is gone. */
  private ending: Promise<never> | undefined;

  constructor(store: DataSource, options: SqliteThreadOptions) {
    super();
    this.writer = new SqliteThread(options);
    this.checkpointer = new SqliteThread(options);
    const run = this.run.bind(this);
    this.manager = store.createEntityManager(new ThreadQueryRunner(store, run));
  }

  override async probe(): Promise<void> {
    await this.manager.query(COMMIT_A_PAGE);
  }

  override async abort(): Promise<void> {
    await this.checkpointer.abort();
    await this.writer.abort();
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
   * log has everything that the file may lack, and the next start copies all of it into the file. So the log must stay.
   * SQLite removes it when the last connection closes; exit() ends the threads, but leaves the main thread's connection
   * open.
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
