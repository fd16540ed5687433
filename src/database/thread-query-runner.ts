import { QueryFailedError, QueryResult, type DataSource } from 'typeorm';
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import { BetterSqlite3QueryRunner } from 'typeorm/driver/better-sqlite3/BetterSqlite3QueryRunner.js';
import type { SqliteThreadResult } from './sqlite-thread.js';

/** Runs a statement on the thread, as SqliteThread.run() does. */
type RunOnThread = (sql: string, parameters: readonly unknown[]) => Promise<SqliteThreadResult>;

/**
 * TypeORM's query runner for SQLite, its statements sent to a thread. There is never a transaction of several
 * statements: a group that was committed within it would not be durable yet. A statement that returns no rows
 * gives undefined, not the last id that was generated.
 */
export class ThreadQueryRunner extends BetterSqlite3QueryRunner {
  constructor(
    store: DataSource,
    private readonly run: RunOnThread,
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
      return Object.assign(new QueryResult(), {
        raw: rows,
        records: rows ?? [],
        affected: changes,
      }) as Result;
    } catch (error) {
      throw new QueryFailedError(sql, parameters, error as Error);
    }
  }

  override startTransaction(): Promise<never> {
    return Promise.reject(new Error('each statement on the thread is its own transaction'));
  }
}
