// The interface of the two databases.
import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, DataSourceOptions, EntityManager, QueryRunner } from 'typeorm';
import type { Config } from '../config/config.js';
import type { Finding } from './finding.js';
import type { Statements } from './statements.js';
import type { Table } from './tables.js';

/** Nest's logger, by its file alone, which needs `reflect-metadata`: commands must not wait for the whole package. */
export { Logger } from '@nestjs/common/services/logger.service.js';

/**
 * What a store is opened for:
 * - `serve`: the service. It migrates the store and has it for itself, as far as the engine allows.
 * - `create`: `migrate`, and the new file of a backup. It makes a store, or migrates one beside a service.
 * - `fill`: `restore`. It writes rows into empty tables, and has the store for itself.
 * - `token`: `token create`, `rotate` and `revoke`, beside a service.
 * - `backup`: `backup` records that it has finished, beside a service.
 * - `read`: every other command. It changes nothing.
 */
export type Access = 'serve' | 'create' | 'fill' | 'token' | 'backup' | 'read';

/** Whether a missing store is made, and an older one may be migrated. */
export function mayCreate(access: Access): boolean {
  return access === 'serve' || access === 'create';
}

/** Rows of a table, ordered by its key, as lines of JSON: the same bytes on every engine. */
export interface LinesQuery {
  readonly table: Pick<Table, 'name' | 'key'>;
  readonly columns: Table['columns'];
  /** An array of all values as strings, 0 and 1 for booleans, or an object, by fields, without those that are NULL. */
  readonly form: 'array' | 'object';
  /** Leaves out the rows that have another text, or none, in this column. */
  readonly only?: Readonly<{ column: string; text: string }> | undefined;
}

/** What differs between the engines. The message of each Error is for the operator. */
export interface Engine {
  readonly statements: Statements;
  /** Whether a database may have tables of other programs. */
  readonly isShared: boolean;
  /** SQL that begins a transaction to migrate in: processes that start at once take turns. */
  readonly beginMigration: string;
  /** SQL of the columns of all tables, such as `plants.id`. */
  readonly listColumns: string;
  /** SQL of the names of all tables. */
  readonly listTables: string;
  /** @throws SchemaError */
  connect(config: Config, access: Access): DataSourceOptions;
  openWriter(store: DataSource, config: Config): Writer;
  /**
   * Makes the transactions of a query runner its own, where all of them share one connection. @param onFailure see
   * {@link Writer.awaitExitIfFatal}
   */
  shareConnection?(
    store: DataSource,
    config: Config,
    onFailure: (error: unknown) => Promise<never> | undefined,
  ): (runner: QueryRunner) => QueryRunner;
  /** Finds what an opened store lacks of what it must be for this access, the gravest first. */
  inspect(
    store: DataSource,
    access: Access,
    manager: Pick<EntityManager, 'query'>,
  ): Promise<readonly Finding[]>;
  /** SQL of what an operator has added to `plants` that can change or drop a plant: rows of `name`, such as `the trigger t`. */
  readonly listMeddlers: string;
  /** SQL of who keeps others from reading a table, and what to do: at most one row of `name`. */
  listLockers?(store: DataSource): string;
  /** Locks a database that no two services may share, until the end of this process at most. @throws Error */
  lock?(store: DataSource): Disposable;
  /** Says why a file must not be replaced, if it is one of a store: that of the configuration, or another one that is in use. */
  describeUse?(path: string, config: Config): string | undefined;
  /** @throws Error if another database has its name by now */
  assertInPlace?(store: DataSource, config: Config): void;
  /** Makes durable what an earlier process has left, before the service acknowledges any of it or a restore begins. */
  recover?(store: DataSource): Promise<void>;
  /**
   * Begins a transaction that reads a snapshot, or one that fills tables. While tables are filled, all other writers wait.
   * @throws Error if it would not see every acknowledged plant in time, or if others write to what is to be filled
   */
  begin(
    runner: QueryRunner,
    access: 'read' | 'fill',
    timeoutMs: number,
    tables: readonly Table[],
  ): Promise<unknown>;
  /** Checks the files, but no rows. @throws DamageError */
  checkFiles?(runner: QueryRunner): Promise<void>;
  /** Lines may span chunks, and may not be UTF-8. */
  readLines(runner: QueryRunner, query: LinesQuery): AsyncIterable<Buffer>;
}

/** Writes plants and uses of tokens, and inspects the store for the service. The event loop never waits for stable storage. */
export abstract class Writer {
  abstract readonly statements: Statements;
  /** Commits that are worth being in flight at once. */
  abstract readonly concurrency: number;

  /**
   * Runs a statement as a transaction of its own. Resolves to its rows once they are durable. On SQLite, a statement that
   * returns no rows resolves to one row, with the `count` of the rows that it changed. A statement that fails because the
   * store is unavailable may have been committed. @throws QueryFailedError
   */
  abstract query<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>;

  /** Inspects the store, as it is now, for the service. @throws StoreProblem; the database's error */
  abstract inspect(): Promise<void>;

  /** @throws StoreProblem if rows of tokens may be hidden, so that one that is not found may be there */
  async assertVisible(): Promise<void> {}

  /** Commits as an insert does, but no row. @throws the database's error */
  abstract commitNothing(): Promise<void>;

  /**
   * The store calls this with the error of a statement on another connection. If a sync has failed, the writer ends the
   * process, and returns a promise that never settles.
   */
  awaitExitIfFatal?(error: unknown): Promise<never> | undefined;

  /** Aborts what would keep the process from exiting. */
  async abort(): Promise<void> {}

  /** Waits for the statements in progress, then closes connections of its own. Plants that still wait are group-commit.ts's. */
  async close(): Promise<void> {}

  /** Kills the process if it cannot exit in time: a thread that waits for a dead disk cannot be ended. */
  async abortAndExit(code: number): Promise<void> {
    const aborted = this.abort().then(() => process.exit(code));
    await Promise.race([aborted, sleep(1_000)]);
    process.kill(process.pid, 'SIGKILL');
  }
}
