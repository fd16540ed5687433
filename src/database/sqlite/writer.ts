/**
 * The write path of SQLite. Its driver is synchronous: on the main thread, each wait for the disk would stop all requests. So
 * two threads write, each with a connection of its own (writer.worker.ts):
 *
 * 1. The committer runs each statement, mostly the insert of a group of plants, as a commit of its own, and syncs the log
 *    (SQLite's write-ahead log, the file `-wal`). Only then their clients get a 200: a crash loses nothing that was acknowledged.
 * 2. Once the log has some pages that the store's file lacks, a checkpoint copies them, or it would fill the disk: the
 *    checkpointer most of them while commits go on, then the committer the rest, between two commits. SQLite's own checkpoints
 *    would make a commit wait for all of it, and ignore errors. SQLite starts the log over only once all of it is in the file,
 *    and TypeORM's repositories write on a connection of their own: so the committer locks them out while it copies the rest,
 *    unless the checkpoint before has found a transaction that still reads old pages: it would wait for the end of that.
 * 3. Each second the committer also inspects the store, that is, compares it with what its migrations made: a difference is a
 *    problem, with the operator's commands to end it as its remedy. Repositories and other processes write to the log and start
 *    no checkpoint: the inspection returns the size of the log, and may start one.
 * 4. After a failed sync nobody knows what is on the disk: Linux drops the unwritten pages, and the next sync succeeds without
 *    them (wiki.postgresql.org/wiki/Fsync_Errors). So the process exits, without the checkpoint that SQLite runs as its last
 *    connection closes. The next start recovers the store from its log.
 * 5. If somebody has overwritten the files, a stop exits in the same way: the log does not belong to the file that is there, and
 *    TypeORM's connection, as the last one, would copy it into that file as it closes.
 * 6. Whoever waits for the store while the process exits gets {@link SqliteWriter.untilExit}, a promise that never settles:
 *    neither a success nor a failure would be known to be right.
 */
import { QueryFailedError } from 'typeorm';
import { describeError, readCode } from '../../errors/operator-message.js';
import { Logger, Writer } from '../engine.js';
import type { Finding } from '../finding.js';
import { StoreProblem } from '../store-errors.js';
import type { Expected } from './inspection.js';
import { statements } from './statements.js';
import {
  SqliteThread,
  type SqliteThreadOptions,
  type SqliteThreadResult,
} from './writer-thread.js';

/** Commits a page without a change: it writes a number of the file's header again, which the service does not use. */
export const COMMIT_A_PAGE = 'PRAGMA user_version = 0';

/** A checkpoint runs once the log has this many pages that are not in the file, 32 MB. */
const CHECKPOINT_AFTER_PAGES = 8_000;
const PAGE_BYTES = 4_096;
/** The operator is warned once the log has this many pages, 128 MB, and each time that they have doubled. */
const WARN_FROM_PAGES = 2 ** 15;

const SYNC_FAILED = /^SQLITE_IOERR_(DIR_)?FSYNC$/;
/** The code, named after SQLite's by writer.worker.ts, of a file that somebody else has written to. */
const OVERWRITTEN = 'SQLITE_READONLY_OVERWRITTEN';
/** A checkpoint writes many parts and syncs once: an error in any part makes that sync useless. */
const CHECKPOINT_IO_FAILED = /^SQLITE_IOERR/;

export class SqliteWriter extends Writer {
  readonly statements = statements;
  /** SQLite has one lock for all that write: a second group would only wait for the first one. */
  readonly concurrency = 1;
  private readonly logger = new Logger('Store');
  /** The threads read it while they wait for a lock, and give up once it is 1. */
  private readonly abandoned = new Int32Array(new SharedArrayBuffer(4));
  private readonly committer: SqliteThread;
  private readonly checkpointer: SqliteThread;
  /** How many pages the latest checkpoint could not copy, as a transaction still reads older ones; Infinity after a failure. */
  private leftPages = 0;
  private checkpoint: Promise<void> | undefined;
  private warnAtPages = WARN_FROM_PAGES;
  private expected: Expected | undefined;
  private isClosing = false;
  /** Set once the process exits, and never settled. */
  private untilExit: Promise<never> | undefined;

  /** @param describe returns what an inspection must find */
  constructor(
    options: Omit<SqliteThreadOptions, 'abandoned'>,
    private readonly describe: () => Promise<Expected>,
  ) {
    super();
    this.committer = new SqliteThread({ ...options, abandoned: this.abandoned });
    this.checkpointer = new SqliteThread({ ...options, abandoned: this.abandoned });
  }

  override async query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    try {
      const result = await this.committer.run([sql, ...parameters]);
      await this.untilExit;
      this.limitLog(result);
      return result.rows as Row[];
    } catch (error) {
      await this.awaitExitIfFatal(error);
      throw new QueryFailedError(sql, parameters, error as Error);
    }
  }

  override async inspect(): Promise<void> {
    this.expected ??= await this.describe();
    const result = await this.committer.run({ inspect: this.expected });
    await this.untilExit;
    // The transaction that kept pages from being copied may have ended.
    this.leftPages = 0;
    this.limitLog(result);
    const [found] = result.rows as readonly Finding[];
    if (!found) return;
    // Its remedies name files that do not exist yet. The next description finds names that are still free.
    this.expected = undefined;
    throw new StoreProblem(found);
  }

  override async commitNothing(): Promise<void> {
    await this.query(COMMIT_A_PAGE);
  }

  override awaitExitIfFatal(error: unknown): Promise<never> | undefined {
    if (!SYNC_FAILED.test(readCode(error))) return undefined;
    return this.exitUnsynced('the sync of a commit', error);
  }

  override async abort(): Promise<void> {
    Atomics.store(this.abandoned, 0, 1);
    await this.checkpointer.close();
    await this.committer.close();
  }

  override async close(): Promise<void> {
    this.isClosing = true;
    await this.checkpoint;
    // TypeORM closes its connection next, which copies the log into the file: this checkpoint finds whether that may be done.
    // Other errors, such as a lock that another process holds, leave the copying to that connection, or to the next start.
    await this.committer.run('PASSIVE').catch((error: unknown) => {
      const code = readCode(error);
      if (code === OVERWRITTEN)
        void this.exit(`${describeError(error)}; the process ends, and leaves the log as it is`);
      else if (CHECKPOINT_IO_FAILED.test(code)) void this.exitUnsynced('a checkpoint', error);
    });
    await this.checkpointer.close();
    await this.committer.close();
    await this.untilExit;
  }

  private limitLog(result: SqliteThreadResult): void {
    if (!this.isClosing && countLeft(result) >= this.leftPages + CHECKPOINT_AFTER_PAGES)
      this.checkpoint ??= this.runCheckpoint();
  }

  private async runCheckpoint(): Promise<void> {
    try {
      await this.checkpointer.run('PASSIVE');
      const result = await this.committer.run(this.leftPages > 0 ? 'PASSIVE' : 'FULL');
      this.leftPages = countLeft(result);
      this.warnOfReader(result.log.log);
    } catch (error) {
      if (CHECKPOINT_IO_FAILED.test(readCode(error)))
        await this.exitUnsynced('a checkpoint', error);
      // No commit is to start the next try, but the next inspection, which resets this number.
      this.leftPages = Infinity;
      this.logger.warn(`checkpoint failed, will be retried: ${describeError(error)}`);
    }
    this.checkpoint = undefined;
  }

  /** SQLite starts the log over only when no transaction reads it: one that is never closed lets the log fill the disk. */
  private warnOfReader(pages: number): void {
    if (pages < WARN_FROM_PAGES) this.warnAtPages = WARN_FROM_PAGES;
    if (pages < this.warnAtPages) return;
    this.warnAtPages = 2 * pages;
    const size = Math.round((pages * PAGE_BYTES) / 2 ** 20);
    this.logger.warn(
      `the log has grown to ${size} MB, as a reader, such as another process, has a long transaction: end that`,
    );
  }

  private exitUnsynced(what: string, error: unknown): Promise<never> {
    const next = 'the process ends, and the next start recovers the store from its log';
    return this.exit(`${what} failed (${readCode(error)}): ${next}`);
  }

  /** Ends the process. That leaves the main thread's connection open, so that no thread closes the last one. */
  private exit(reason: string): Promise<never> {
    if (!this.untilExit) {
      this.untilExit = new Promise(() => undefined);
      this.logger.fatal(reason);
      // The status is EX_IOERR of sysexits.h.
      void this.abortAndExit(74);
    }
    return this.untilExit;
  }
}

/** How many pages of the log are not in the file yet. */
function countLeft({ log: { log, checkpointed } }: SqliteThreadResult): number {
  return log - checkpointed;
}
