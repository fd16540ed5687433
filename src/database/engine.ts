import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, DataSourceOptions, EntityManager, QueryRunner } from 'typeorm';
import type { Config } from '../config/config.js';

/**
 * Nest's logger. A command loads its file alone, since the whole package takes longer to load than everything else.
 * `reflect-metadata` is imported above because the package would load it.
 */
export { Logger } from '@nestjs/common/services/logger.service.js';

/** How long the store has to abort what is in flight. */
const ABORT_TIMEOUT_MS = 1_000;

/** No store is there. */
export class NoStoreError extends Error {
  constructor(message = 'it is not a plant store') {
    super(message);
  }
}

/**
 * What a store is opened for. Only `serve` and `create` make a store that is missing, and only `serve` claims it;
 * `read` changes nothing.
 */
export type Access = 'serve' | 'create' | 'change' | 'read';

/** Asks for rows of a table, in the order of their ids, as lines of JSON: the same bytes on every engine. */
export interface LinesQuery {
  readonly table: string;
  readonly columns: readonly string[];
  /** An array of all values as strings, or an object without the columns that are NULL. */
  readonly form: 'array' | 'object';
  /** Only rows whose id is greater than this. */
  readonly after?: bigint | undefined;
  /** Only rows whose id is at most this. */
  readonly to?: bigint | undefined;
}

/** How an engine reads a whole store as it was at one moment. */
export interface SnapshotReader {
  /**
   * Begins the transaction: it has every plant that was acknowledged before.
   *
   * @param timeoutMs for waiting for such plants
   * @throws Error, with a reason for the operator, if some are missing after that time; the store's error
   */
  begin(runner: QueryRunner, timeoutMs: number): Promise<unknown>;
  /**
   * Checks the structure of the files; rows are checked as they are read.
   *
   * @returns whether that includes the indexes
   * @throws DamageError; the store's error
   */
  check(runner: QueryRunner, tables: readonly string[]): Promise<boolean>;
  /** Reads rows as lines, each with its line feed. Lines may span chunks, and may not be UTF-8. */
  read(runner: QueryRunner, query: LinesQuery): Iterable<Buffer> | AsyncIterable<Buffer>;
}

/** What differs from one database engine to the next. An engine that has no use for a member has none. */
export interface Engine {
  /** Its name in traces (OpenTelemetry's `db.system.name`) and metrics; repositories choose their statements by it. */
  readonly system: 'sqlite' | 'postgresql';
  readonly reader: SnapshotReader;
  /** SQL that begins a transaction to migrate in: processes that start at once take turns. */
  readonly beginMigration: string;
  /** How TypeORM reaches the database. @throws NoStoreError */
  connect(config: Config, access: Access): DataSourceOptions;
  /** Opens the way on which the service writes while it runs. */
  openWritePath(store: DataSource, config: Config): WritePath;
  /** Finds the file that a store is in. */
  findFile?(config: Config): string;
  /** @throws Error, with a reason for the operator, if the database could lose an acknowledged plant */
  assertDurable?(store: DataSource): Promise<void>;
  /**
   * Claims a database that no two services may share: for the service of this process, or for a restore. Other
   * commands claim nothing.
   *
   * @returns the claim, which the end of the process ends too; undefined if no one else can open the database
   * @throws Error, with a reason for the operator, if another service has it
   */
  claim?(config: Config): Disposable | undefined;
  /**
   * Makes durable what an earlier process has left, before the service tells anyone that it is stored.
   *
   * @throws the store's error
   */
  recover?(store: DataSource): Promise<void>;
  /** Whether to retry a start that failed with this error; never if left out. */
  isUnavailableAtStart?(error: unknown): boolean;
}

/** How repositories write to plants and record uses of tokens: the event loop never waits for stable storage. */
export abstract class WritePath {
  /** Commits that are worth being in flight at once. */
  abstract readonly concurrency: number;
  /**
   * For the repositories that write. Each of their statements is a transaction of its own: what it wrote is on
   * stable storage once it resolves. It rejects with the store's error: by toStoreError() StoreUnavailableException if it is
   * not known what was written.
   */
  abstract readonly manager: EntityManager;

  /** Aborts what is in flight, as far as needed, for a process that is about to exit. A server needs nothing. */
  async abort(): Promise<void> {}

  /** Waits for what is in flight, then closes connections of its own. */
  async close(): Promise<void> {}

  /**
   * Exits with a code once what is in flight is aborted. If that takes too long the process is killed: a thread
   * that a disk does not answer cannot be ended, and exit() would wait for it.
   */
  async abortAndExit(code: number): Promise<void> {
    const aborted = this.abort().then(() => process.exit(code));
    await Promise.race([aborted, sleep(ABORT_TIMEOUT_MS)]);
    process.kill(process.pid, 'SIGKILL');
  }
}

/**
 * Computes how many milliseconds a request waits for the store at most, each time. It waits twice, for its token and
 * for the commit of its plant, and `databaseTimeout` is for both together.
 */
export function getLookupTimeoutMs({ databaseTimeout }: Pick<Config, 'databaseTimeout'>): number {
  return databaseTimeout / 2;
}

/** Computes milliseconds for a statement, or for a connection: it fails before the request that waits for it gives up. */
export function getStatementTimeoutMs(config: Pick<Config, 'databaseTimeout'>): number {
  return 0.8 * getLookupTimeoutMs(config);
}
