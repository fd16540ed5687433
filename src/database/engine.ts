import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, DataSourceOptions, EntityManager, QueryRunner } from 'typeorm';
import type { Config } from '../config/config.js';
import { CreatePlantsAndTokens1700000000000 } from './migrations/1700000000000-create-plants-and-tokens.js';

/**
 * Nest's logger. A command loads its file alone, since the whole package takes longer to load than everything else.
 * `reflect-metadata` is imported above because the package would load it.
 */
export { Logger } from '@nestjs/common/services/logger.service.js';

/** How long the store has to abort what is in flight. */
const ABORT_TIMEOUT_MS = 1_000;

/** What the configuration says of the store. */
export type StoreConfig = Pick<Config, 'databaseUrl' | 'databaseTimeout'>;

/** How every engine is told to make its schema: by migrations alone. */
export const SCHEMA = {
  migrations: [CreatePlantsAndTokens1700000000000],
  synchronize: false,
  // TypeORM's default writes a failed migration to stdout. The service or the command reports it.
  logger: 'debug' as const,
};

/** Why a store cannot be used, and what to do. */
export const NOT_MIGRATED =
  'its schema is not up to date: run `npx plant-store migrate`, or start the service with MIGRATE=on';

/** No store is there. */
export class NoStoreError extends Error {}

/** What a store is opened for. Only `create` makes one that is missing; `read` changes nothing. */
export type Access = 'create' | 'change' | 'read';

/** What differs from one database engine to the next, but for the statements of repositories: {@link chooseByEngine}. */
export interface Engine {
  /** Its name in traces (OpenTelemetry's `db.system.name`) and metrics. */
  readonly system: string;
  /** How TypeORM reaches the database. @throws NoStoreError */
  connect(config: StoreConfig, access: Access): DataSourceOptions;
  readonly reader: SnapshotReader;
  /** Finds the file that a store is in; undefined if a server has it. */
  findFile(url: string): string | undefined;
  /** Statements that begin a transaction to migrate in: processes that start at once take turns. */
  readonly beginMigration: readonly string[];
  /** @throws Error, with a reason for the operator, if the database could lose an acknowledged plant */
  assertDurable(store: DataSource): Promise<void>;
  /**
   * Claims the database, if no two services may share one: for the service of this process, or for a restore. Other
   * commands claim nothing.
   *
   * @returns a function that ends the claim, as the end of the process does
   * @throws Error, with a reason for the operator, if another service has it
   */
  claim(config: StoreConfig): () => void;
  /**
   * Makes durable what an earlier process has left, before the service tells anyone that it is stored.
   *
   * @throws the store's error
   */
  recover(store: DataSource): Promise<void>;
  /** Whether to retry a failed start. */
  isUnavailableAtStart(error: unknown): boolean;
  /** Opens the way on which the service writes while it runs. */
  openWritePath(store: DataSource, config: StoreConfig): WritePath;
}

/** A column's member in a line of JSON. */
export interface Cell {
  readonly column: string;
  /** The text before the value. */
  readonly before: string;
  /** Whether the value is a JSON string; else a number, by its digits. */
  readonly isString: boolean;
  /** The text instead of both if the column is NULL. */
  readonly ifNull: string;
}

/** Selects rows of a table by the range of their ids; all if left out. */
export interface RowRange {
  readonly table: string;
  /** Only rows whose id is greater than this. */
  readonly after?: bigint | undefined;
  /** Only rows whose id is at most this. */
  readonly to?: bigint | undefined;
}

/** Asks for rows of a table, in the order of their ids, as lines of JSON: the same bytes on every engine. */
export interface LinesQuery extends RowRange {
  readonly cells: readonly Cell[];
  /** The text at the end of each line. */
  readonly end: string;
}

/** How an engine reads a whole store as it was at one moment. */
export interface SnapshotReader {
  /** The SQL function that makes a JSON string of a text. */
  readonly toJson: string;
  /**
   * Begins the transaction: it has every plant that was acknowledged before.
   *
   * @param timeoutMs for waiting for such plants
   * @throws Error, with a reason for the operator, if some are missing after that time; the store's error
   */
  begin(runner: QueryRunner, timeoutMs: number): Promise<unknown>;
  /**
   * Checks the structure of the files.
   *
   * @returns whether that includes the indexes
   * @throws DamageError; the store's error
   */
  check(runner: QueryRunner, tables: readonly string[]): Promise<boolean>;
  /**
   * Reads the values of an SQL expression, each with its line feed, in the order of the ids. Lines may span chunks.
   *
   * @throws DamageError if a value is of another type than its column; the store's error
   */
  read(
    runner: QueryRunner,
    expression: string,
    range: RowRange,
  ): Iterable<Buffer> | AsyncIterable<Buffer>;
}

/** Chooses between what a repository has for each engine: its statements, or functions that run them. */
export function chooseByEngine<Choice>(
  { options }: DataSource,
  { sqlite, postgres }: { readonly sqlite: Choice; readonly postgres: Choice },
): Choice {
  return options.type === 'postgres' ? postgres : sqlite;
}

/** How repositories write to plants and record uses of tokens: the event loop never waits for stable storage. */
export abstract class WritePath {
  /** Commits that are worth being in flight at once. */
  abstract readonly concurrency: number;
  /**
   * For the repositories that write. Each of their statements is a transaction of its own: what it wrote is on
   * stable storage once it resolves. It rejects with the store's error: by toStoreError() StoreUnavailable if it is
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
