import { QueryFailedError, type DataSource } from 'typeorm';
import { describeError } from '../../errors/operator-message.js';
import { Logger, readCode, Writer } from '../engine.js';
import { findAlias } from './files.js';
import {
  READ_LOG_SIZE,
  SqliteThread,
  type LogSize,
  type SqliteThreadOptions,
} from './writer-thread.js';

/** Commits a page: writes a number of the file's header again, which nothing of ours reads. */
export const COMMIT_A_PAGE = 'PRAGMA user_version = 0';

/** Waits for no readers or writers. */
const CHECKPOINT = 'PRAGMA wal_checkpoint(PASSIVE)';

/** Pages of the log that are not in the file yet, after which a checkpoint runs: 32 MB. */
const CHECKPOINT_AFTER_PAGES = 8_000;
/** Between two looks at what other connections have written. */
const LOOK_INTERVAL_MS = 1_000;
const PAGE_BYTES = 4_096;
/** Pages in the log from which a warning tells of it: 128 MB. Another one follows each time that they have doubled. */
const WARN_FROM_PAGES = 2 ** 15;

/** Linux drops the unwritten pages, and the next sync succeeds without them (wiki.postgresql.org/wiki/Fsync_Errors). */
const SYNC_FAILED = /^SQLITE_IOERR_(DIR_)?FSYNC$/;
/** Of writer.worker.ts. */
const OVERWRITTEN = 'SQLITE_READONLY_OVERWRITTEN';
/** A checkpoint writes many parts and syncs once: an error in any part makes that sync useless. */
const CHECKPOINT_FAILED = /^SQLITE_IOERR/;

/**
 * Writes on a thread, as the driver is synchronous. The checkpointer copies most of the log while commits go on, then the
 * committer the rest between two commits: SQLite's own checkpoint makes commits wait for all of it, and ignores errors.
 */
export class SqliteWriter extends Writer {
  readonly system = 'sqlite';
  /** A second group would only wait for the first one's lock. */
  readonly concurrency = 1;
  readonly durabilityColumn = '';
  private readonly logger = new Logger('Store');
  private readonly abandoned = new Int32Array(new SharedArrayBuffer(4));
  private readonly committer: SqliteThread;
  private readonly checkpointer: SqliteThread;
  /** Pages that the latest checkpoint has left in the log, because of a reader. */
  private leftPages = 0;
  private checkpoint: Promise<void> | undefined;
  private readonly timer = setInterval(() => void this.lookAtLog(), LOOK_INTERVAL_MS).unref();
  private warnAtPages = WARN_FROM_PAGES;
  private alias: string | undefined;
  private isClosed = false;
  /** Set by {@link end}, and never settled: whoever awaits it waits until the process is gone. */
  private ending: Promise<never> | undefined;

  constructor(
    private readonly store: DataSource,
    private readonly options: Omit<SqliteThreadOptions, 'abandoned'>,
  ) {
    super();
    this.committer = new SqliteThread({ ...options, abandoned: this.abandoned });
    this.checkpointer = new SqliteThread({ ...options, abandoned: this.abandoned });
  }

  override async query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    try {
      const { rows, log } = await this.committer.run(sql, parameters);
      await this.ending;
      this.limitLog(log);
      return rows as Row[];
    } catch (error) {
      await this.endOnFailure(error);
      throw new QueryFailedError(sql, parameters, error as Error);
    }
  }

  override async probe(): Promise<void> {
    await this.query(COMMIT_A_PAGE);
  }

  override endOnFailure(error: unknown): Promise<never> | undefined {
    if (!SYNC_FAILED.test(readCode(error))) return undefined;
    return this.endUnsynced('the sync of a commit', error);
  }

  override async abort(): Promise<void> {
    clearInterval(this.timer);
    Atomics.store(this.abandoned, 0, 1);
    await this.checkpointer.close();
    await this.committer.close();
  }

  override async close(): Promise<void> {
    clearInterval(this.timer);
    this.isClosed = true;
    await this.checkpoint;
    // Closing the store would copy the log into a file that was overwritten.
    await this.committer.run('SELECT 1').catch((error: unknown) => {
      if (readCode(error) === OVERWRITTEN)
        void this.end(`${describeError(error)}; the process ends, and leaves the log as it is`);
    });
    await this.checkpointer.close();
    await this.committer.close();
    // The caller closes the store next, and must not while the process ends: see end().
    await this.ending;
  }

  /** Other connections write too, such as that of TypeORM's repositories. Commits report a failure. */
  private async lookAtLog(): Promise<void> {
    const [log] = await this.store.query<LogSize[]>(READ_LOG_SIZE).catch(() => []);
    if (!log || this.isClosed) return;
    // The reader may have ended.
    this.leftPages = 0;
    this.limitLog(log);
    this.warnOfAlias();
  }

  private limitLog({ log, checkpointed }: LogSize): void {
    if (log - checkpointed >= this.leftPages + CHECKPOINT_AFTER_PAGES)
      this.checkpoint ??= this.runCheckpoint();
  }

  private async runCheckpoint(): Promise<void> {
    try {
      await this.checkpointer.run(CHECKPOINT);
      const { log } = await this.committer.run(CHECKPOINT);
      this.leftPages = log.log - log.checkpointed;
      this.warnOfReader(log.log);
    } catch (error) {
      if (CHECKPOINT_FAILED.test(readCode(error))) await this.endUnsynced('a checkpoint', error);
      this.logger.warn(`checkpoint failed, will be retried: ${describeError(error)}`);
    }
    this.checkpoint = undefined;
  }

  private warnOfAlias(): void {
    try {
      const alias = findAlias(this.options.file);
      if (alias && !this.alias) this.logger.warn(`${alias}; the next start would refuse it`);
      this.alias = alias;
    } catch {
      // Commits report a file that was removed, or cannot be reached.
    }
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
