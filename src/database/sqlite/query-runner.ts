// A create, step 11 of 13, on SQLite (1 of 4): TypeORM's query runner hands the statement to writer.ts.
import type Database from 'better-sqlite3';
import { QueryFailedError, QueryResult, type DataSource } from 'typeorm';
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import { BetterSqlite3QueryRunner } from 'typeorm/driver/better-sqlite3/BetterSqlite3QueryRunner.js';
import type { SqliteThread } from './writer-thread.js';

// The one file that uses parts of TypeORM which it does not document: its query runner for SQLite, which has no other
// point to send statements to a thread, and its driver's connection. query-runner.spec.ts fails if they change.

/** Gets the connection of an open store, which reads more than TypeORM asks it for: page by page, as bytes. */
export function getConnection({ driver }: DataSource): Database.Database {
  return (driver as BetterSqlite3Driver).databaseConnection as Database.Database;
}

/**
 * Converts integers that a double represents exactly to numbers, as SQLite's driver does with all by default. Others stay bigints.
 *
 * @param rows that the driver has read with bigints; they are changed
 */
export function narrowIntegers<Row>(rows: readonly Row[]): readonly Row[] {
  for (const row of rows as readonly Record<string, unknown>[]) {
    for (const [name, value] of Object.entries(row)) {
      if (typeof value === 'bigint' && Number.isSafeInteger(Number(value)))
        row[name] = Number(value);
    }
  }
  return rows;
}

/**
 * TypeORM's query runner for SQLite, with its statements sent to a thread. It refuses transactions of several
 * statements: a group within one would not be durable when its statement resolves. A statement that returns nothing
 * resolves to a row with the count of those that it changed, not to the last generated id.
 */
export class ThreadQueryRunner extends BetterSqlite3QueryRunner {
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
      const { rows, changes } = await this.run(sql, parameters);
      const found = rows && narrowIntegers(rows);
      if (!useStructuredResult) return (found ?? [{ count: changes }]) as Result;
      const result = { raw: found, records: found ?? [], affected: changes };
      return Object.assign(new QueryResult(), result) as Result;
    } catch (error) {
      throw new QueryFailedError(sql, parameters, error as Error);
    }
  }

  override startTransaction(): Promise<never> {
    return Promise.reject(new Error('each statement on the thread is its own transaction'));
  }
}
