import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, DataSourceOptions, EntityManager, QueryRunner } from 'typeorm';
import type { Config } from '../config/config.js';
import type { MakeStatements } from './statements.js';
import { CreatePlantsAndTokens1700000000000 } from './migrations/1700000000000-create-plants-and-tokens.js';
import { AddAuditTrailToPlants1763700000000 } from './migrations/1763700000000-add-audit-trail-to-plants.js';

/** Milliseconds that the store has to abort what is in flight. */
const ABORT_TIMEOUT_MS = 1_000;

/** What the configuration says of the store. */
export type StoreConfig = Pick<Config, 'databaseUrl' | 'databaseTimeout'>;

/** How every engine is told to make its schema: by migrations alone. */
export const SCHEMA = {
  migrations: [CreatePlantsAndTokens1700000000000, AddAuditTrailToPlants1763700000000],
  synchronize: false,
  // TypeORM's default writes a migration that failed to stdout; whoever ran it says so anyway.
  logger: 'debug' as const,
};

/** Why a store cannot be used, and what to do. */
export const NOT_MIGRATED =
  'its schema is not up to date: run `npx plant-store migrate`, or start the service with MIGRATE=on';

/** What to do where there is no store. */
export const NO_STORE =
  "; run this in the service's folder, or set DATABASE_URL; `npx plant-store migrate` creates a new store";

/** What differs from one database engine to the next; the statements of its tables are those of its WritePath. */
export interface Engine {
  /** Its name in traces (OpenTelemetry's `db.system.name`) and metrics. */
  readonly system: string;
  /** How TypeORM reaches the database. */
  connect(config: StoreConfig): DataSourceOptions;
  /** The same, of a store that is there: none is made. */
  connectToExisting(config: StoreConfig): DataSourceOptions;
  /**
   * The same, to read alone: nothing is made or changed there.
   *
   * @param advice what to do where there is none, at the end of the error that says so
   */
  connectToRead(config: StoreConfig, advice: string): DataSourceOptions;
  readonly reader: SnapshotReader;
  /** The file that a store is in; undefined where a server has it. */
  fileOf(url: string): string | undefined;
  /** Brings the schema up to date and returns the names of the migrations that it ran. */
  migrate(config: StoreConfig): Promise<string[]>;
  /** Rejects, with a reason for the operator, where the database could lose an acknowledged plant. */
  assertDurable(store: DataSource): Promise<void>;
  /**
   * Claims the database for the service of this process, where no two services may share one, or for a restore;
   * the other commands claim nothing.
   *
   * @returns a function that ends the claim, as the end of the process does
   * @throws Error, with a reason for the operator, where another service has it
   */
  claim(config: StoreConfig): () => void;
  /**
   * Makes durable what an earlier process has left, before the service tells anyone that it is stored.
   * Rejects with the store's error where it cannot be.
   */
  recover(store: DataSource): Promise<void>;
  /** Whether a failed start may do later, as the database was only unavailable. */
  isUnavailableAtStart(error: unknown): boolean;
  /** Opens the way on which the service writes while it runs. */
  openWritePath(store: DataSource, config: StoreConfig): WritePath;
}

/** Chooses between what a repository has for each engine: its statements, or functions that run them. */
export function chooseByEngine<Choice>(
  { options }: DataSource,
  { sqlite, postgres }: { readonly sqlite: Choice; readonly postgres: Choice },
): Choice {
  return options.type === 'postgres' ? postgres : sqlite;
}

/** What a line of JSON has of a column. */
export interface Cell {
  readonly column: string;
  /** What stands before the value. */
  readonly before: string;
  /** Whether the value is a JSON string; else a number, by its digits. */
  readonly isString: boolean;
  /** What stands there where the column is NULL. */
  readonly ifNull: string;
}

/** Rows of a table, in the order of their ids, as lines of JSON: the same bytes on every engine. */
export interface Rows {
  readonly table: string;
  readonly cells: readonly Cell[];
  /** What ends each line. */
  readonly end: string;
  /** Only rows whose id is greater than this. */
  readonly after?: bigint | undefined;
  /** Only rows whose id is at most this. */
  readonly to?: bigint | undefined;
}

/** How an engine reads a whole store as it was at one moment; `Snapshot` says what each is for. */
export interface SnapshotReader {
  /**
   * Begins the transaction: it has every plant that was acknowledged before.
   *
   * @param timeoutMs that it waits for such plants at most
   * @throws Error, with a reason for the operator, where some are not there by then; the store's error
   */
  begin(runner: QueryRunner, timeoutMs: number): Promise<unknown>;
  check(runner: QueryRunner, tables: readonly string[]): Promise<boolean>;
  lines(runner: QueryRunner, rows: Rows): AsyncIterable<Buffer>;
}

/** How repositories write while the service runs: the event loop never waits for stable storage. */
export abstract class WritePath {
  /** Commits that are worth being in flight at once. */
  abstract readonly concurrency: number;
  /**
   * For the repositories that write. Each of their statements is a transaction of its own: what it wrote is on
   * stable storage once it resolves. There are no longer transactions here. It rejects with the
   * store's error: by toStoreError() StoreUnavailable where it is not known what was written.
   */
  abstract readonly manager: EntityManager;
  abstract readonly makeStatements: MakeStatements;
  /** Aborts what is in flight, as far as it can be, for a process that is about to exit. */
  abstract abort(): Promise<void>;
  /** Waits for what is in flight, then lets go of the store. */
  abstract close(): Promise<void>;

  /**
   * Exits with a code once what is in flight is aborted. Where that takes too long the process is killed: a thread
   * that a disk does not answer cannot be ended, and exit() would wait for it.
   */
  async abortAndExit(code: number): Promise<void> {
    const aborted = this.abort().then(() => process.exit(code));
    await Promise.race([aborted, sleep(ABORT_TIMEOUT_MS)]);
    process.kill(process.pid, 'SIGKILL');
  }
}

/**
 * Milliseconds for one lookup in the store. A request makes two, for its token and for its plant, and
 * `databaseTimeout` is for both together.
 */
export function lookupTimeoutMs({ databaseTimeout }: Pick<Config, 'databaseTimeout'>): number {
  return databaseTimeout / 2;
}

/** Milliseconds for a statement, or for a connection: it fails before the lookup that waits for it. */
export function statementTimeoutMs(config: Pick<Config, 'databaseTimeout'>): number {
  return 0.8 * lookupTimeoutMs(config);
}
