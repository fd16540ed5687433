import type { Database } from 'better-sqlite3';
import type { QueryRunner } from 'typeorm';
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import { StoreUnavailableException } from '../../errors/error-codes.js';

const TOO_LONG = "a transaction takes too long: within one, use its manager's repositories";

/**
 * Gives each operation of TypeORM a transaction of its own. TypeORM has one query runner for all of SQLite: a save() would
 * join the transaction of another request, resolve before its commit, and be undone by its rollback.
 */
export class OwnTransactions {
  /** Settled once the connection is free again. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly driver: BetterSqlite3Driver,
    private readonly timeoutMs: number,
    /** What it returns never settles if the process ends: no other operation begins then. */
    private readonly onFailure: (error: unknown) => Promise<never> | undefined,
  ) {}

  /** Makes the statements of a new runner wait for the transactions of others. */
  separate(runner: QueryRunner): QueryRunner {
    // The driver makes another one next time.
    delete this.driver.queryRunner;
    const query = runner.query.bind(runner) as (
      sql: string,
      ...rest: unknown[]
    ) => Promise<unknown>;
    let transaction: Disposable | undefined;
    return Object.assign(runner, {
      query: async (sql: string, ...rest: unknown[]) => {
        // It did not begin, or SQLite has rolled back by itself, as on a full disk.
        if (!transaction && sql.startsWith('ROLLBACK')) return undefined;
        const turn = transaction ?? (await this.takeTurn());
        try {
          return await query(sql, ...rest);
        } catch (error) {
          await this.onFailure(error);
          throw error;
        } finally {
          transaction = this.isInTransaction ? turn : undefined;
          if (!transaction) turn[Symbol.dispose]();
        }
      },
      release: async () => {
        // A transaction that was forgotten would keep the connection.
        await runner.query('ROLLBACK');
        Object.assign(runner, { isReleased: true });
      },
    });
  }

  private get isInTransaction(): boolean {
    return (this.driver.databaseConnection as Database).inTransaction;
  }

  /** @throws StoreUnavailableException if another one does not end, as of a transaction that waits for this one */
  private async takeTurn(): Promise<Disposable> {
    const { last } = this;
    const turn: PromiseWithResolvers<void> = Promise.withResolvers();
    const over = turn.promise.catch(() => undefined);
    this.last = last.then(() => over);
    const expire = () => turn.reject(new StoreUnavailableException(TOO_LONG));
    const timer = setTimeout(expire, this.timeoutMs);
    await Promise.race([last, turn.promise]);
    clearTimeout(timer);
    return { [Symbol.dispose]: turn.resolve };
  }
}
