/**
 * The write path of SQLite, whose driver is synchronous: all that waits for the disk is on two threads.
 *
 * 1. The committer runs a statement as a commit of its own, and syncs the log. It inspects the store, too.
 * 2. Once the log has some pages, a checkpoint copies it into the file: the checkpointer most of it, while commits go on, then
 *    the committer the rest, between two commits. SQLite's own would make commits wait for all of it, and ignores errors.
 * 3. Other connections write as well, such as that of TypeORM's repositories, and start no checkpoint: the size of the log
 *    that each inspection returns starts one.
 * 4. After a failed sync it is unknown what is on the disk, and a second one would succeed without the pages. So the process
 *    ends, without closing the store: SQLite copies the log as its last connection closes. The next start recovers from it.
 *    So does a stop of a store whose files were overwritten: the log belongs to no file there.
 * 5. Who waits for something that ends the process never learns an outcome: neither a 200 nor a failure would be known to be
 *    right.
 */
import { QueryFailedError } from 'typeorm';
import { describeError, readCode } from '../../errors/operator-message.js';
import { Logger, Writer } from '../engine.js';
import { StoreProblem, type Finding } from '../store-errors.js';
import type { Expected } from './inspection.js';
import { statements } from './statements.js';
import { SqliteThread, type LogSize, type SqliteThreadOptions } from './writer-thread.js';

/** Commits a page: writes a number of the file's header again, which nothing of ours reads. */
export const COMMIT_A_PAGE = 'PRAGMA user_version = 0';

/** Pages of the log that are not in the file yet, after which a checkpoint runs: 32 MB. */
const CHECKPOINT_AFTER_PAGES = 8_000;
const PAGE_BYTES = 4_096;
/** Pages in the log from which a warning tells of it: 128 MB. Another one follows each time that they have doubled. */
const WARN_FROM_PAGES = 2 ** 15;

/** Linux drops the unwritten pages, and the next sync succeeds without them (wiki.postgresql.org/wiki/Fsync_Errors). */
const SYNC_FAILED = /^SQLITE_IOERR_(DIR_)?FSYNC$/;
/** The code that the thread throws when somebody else has written to the files: nothing may be copied into them. */
const OVERWRITTEN = 'SQLITE_READONLY_OVERWRITTEN';
/** A checkpoint writes many parts and syncs once: an error in any part makes that sync useless. */
const CHECKPOINT_FAILED = /^SQLITE_IOERR/;

/** Writes on the threads. */
export class SqliteWriter extends Writer {
  readonly statements = statements;
  /** A second group would only wait for the first one's lock. */
  readonly concurrency = 1;
  private readonly logger = new Logger('Store');
  private readonly abandoned = new Int32Array(new SharedArrayBuffer(4));
  private readonly committer: SqliteThread;
  private readonly checkpointer: SqliteThread;
  /** Pages that the latest checkpoint has left in the log, because of a reader. */
  private leftPages = 0;
  private checkpoint: Promise<void> | undefined;
  private warnAtPages = WARN_FROM_PAGES;
  private expected: Expected | undefined;
  private isClosed = false;
  /** Set by {@link end}, and never settled: whoever awaits it waits until the process is gone. */
  private ending: Promise<never> | undefined;

  /** @param describe tells what an inspection is to find */
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
      const { rows, log } = await this.committer.run([sql, ...parameters]);
      await this.ending;
      this.limitLog(log);
      return rows as Row[];
    } catch (error) {
      await this.endOnFailure(error);
      throw new QueryFailedError(sql, parameters, error as Error);
    }
  }

  override async inspect(): Promise<void> {
    this.expected ??= await this.describe();
    const { rows, log } = await this.committer.run({ inspect: this.expected });
    await this.ending;
    // The reader may have ended.
    this.leftPages = 0;
    this.limitLog(log);
    const [found] = rows as readonly Finding[];
    if (!found) return;
    // The commands name files that were free when it was described.
    this.expected = undefined;
    throw new StoreProblem(found);
  }

  override async commitNothing(): Promise<void> {
    await this.query(COMMIT_A_PAGE);
  }

  override endOnFailure(error: unknown): Promise<never> | undefined {
    if (!SYNC_FAILED.test(readCode(error))) return undefined;
    return this.endUnsynced('the sync of a commit', error);
  }

  override async abort(): Promise<void> {
    Atomics.store(this.abandoned, 0, 1);
    await this.checkpointer.close();
    await this.committer.close();
  }

  override async close(): Promise<void> {
    this.isClosed = true;
    await this.checkpoint;
    // Closing the store copies the log, too, and must not into a file that was overwritten.
    await this.committer.run('checkpoint').catch((error: unknown) => {
      const code = readCode(error);
      if (code === OVERWRITTEN)
        void this.end(`${describeError(error)}; the process ends, and leaves the log as it is`);
      else if (CHECKPOINT_FAILED.test(code)) void this.endUnsynced('a checkpoint', error);
    });
    await this.checkpointer.close();
    await this.committer.close();
    // The caller closes the store next, and must not while the process ends: see end().
    await this.ending;
  }

  private limitLog({ log, checkpointed }: LogSize): void {
    if (!this.isClosed && log - checkpointed >= this.leftPages + CHECKPOINT_AFTER_PAGES)
      this.checkpoint ??= this.runCheckpoint();
  }

  private async runCheckpoint(): Promise<void> {
    try {
      await this.checkpointer.run('checkpoint');
      const { log } = await this.committer.run('checkpoint');
      this.leftPages = log.log - log.checkpointed;
      this.warnOfReader(log.log);
    } catch (error) {
      if (CHECKPOINT_FAILED.test(readCode(error))) await this.endUnsynced('a checkpoint', error);
      // By the next inspection, not by each commit.
      this.leftPages = Infinity;
      this.logger.warn(`checkpoint failed, will be retried: ${describeError(error)}`);
    }
    this.checkpoint = undefined;
  }

  /** A log starts over only when no transaction reads it: a forgotten one lets it fill the disk. */
  private warnOfReader(pages: number): void {
    if (pages < WARN_FROM_PAGES) this.warnAtPages = WARN_FROM_PAGES;
    if (pages < this.warnAtPages) return;
    this.warnAtPages = 2 * pages;
    const size = Math.round((pages * PAGE_BYTES) / 2 ** 20);
    this.logger.warn(
      `the log has grown to ${size} MB, as a reader, such as another process, has a long transaction: end that`,
    );
  }

  /** It is unknown what part of the file is on the disk. */
  private endUnsynced(what: string, error: unknown): Promise<never> {
    const next = 'the process ends, and the next start recovers the store from its log';
    return this.end(`${what} failed (${readCode(error)}): ${next}`);
  }

  /** Ends the process without a checkpoint: SQLite runs one with the last connection, and exit() leaves the main thread's open. */
  private end(reason: string): Promise<never> {
    if (!this.ending) {
      this.ending = new Promise(() => undefined);
      this.logger.fatal(reason);
      // EX_IOERR of sysexits.h.
      void this.abortAndExit(74);
    }
    return this.ending;
  }
}
