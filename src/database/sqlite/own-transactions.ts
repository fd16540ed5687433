/**
 * A query runner of its own for each operation of TypeORM on SQLite, that is, for each save(), find() or transaction() that
 * asks for one. TypeORM's driver keeps one runner, and so one transaction, for its one connection: a save() of one request
 * would join the transaction of another, resolve before that has committed, and be undone by its rollback.
 *
 * 1. Store.createQueryRunner() hands each new runner to what this file returns, which makes the driver forget it, and
 *    replaces its methods query() and release().
 * 2. A turn is the right to use the connection. The first statement of a runner waits for one. The turn ends as soon as the
 *    connection is in no transaction: after that statement, or after COMMIT or ROLLBACK. So the statements of two transactions
 *    are never mixed.
 * 3. Who waits for a turn for too long gives up, and the statement fails. Otherwise a repository's save() within the callback of
 *    transaction(), without the manager of that, would wait for the transaction's end, which waits for it.
 * 4. A runner that is released in a transaction rolls it back: nobody else would ever get a turn.
 */
import type { Database } from 'better-sqlite3';
import type { DataSource, QueryRunner } from 'typeorm';
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import type { Config } from '../../config/config.js';
import { StoreUnavailableException } from '../../errors/error-codes.js';

const TOO_LONG = "a transaction takes too long: within one, use its manager's repositories";

/**
 * Returns what makes the statements of a new runner wait for the turns of others. @param awaitExitIfFatal if the process must exit
 * (writer.ts), returns a promise that never settles: the turn never ends, and nothing else begins
 */
export function shareConnection(
  store: DataSource,
  { waitTimeoutMs }: Config,
  awaitExitIfFatal: (error: unknown) => Promise<never> | undefined,
): (runner: QueryRunner) => QueryRunner {
  const driver = store.driver as BetterSqlite3Driver;
  /** Resolves once all turns that were asked for so far have ended. */
  let last: Promise<unknown> = Promise.resolve();

  /**
   * Waits for the turns before this one. If that takes too long, this one counts as ended; who comes after it still waits for
   * those before it. @throws StoreUnavailableException if they are not over in time
   */
  async function takeTurn(): Promise<() => void> {
    const former = last;
    const turn: PromiseWithResolvers<void> = Promise.withResolvers();
    const ended = turn.promise.catch(() => undefined);
    last = former.then(() => ended);
    const expire = () => turn.reject(new StoreUnavailableException(TOO_LONG));
    const timer = setTimeout(expire, waitTimeoutMs);
    await Promise.race([former, turn.promise]);
    clearTimeout(timer);
    return turn.resolve;
  }

  return (runner) => {
    // The driver makes another runner for the next operation.
    delete driver.queryRunner;
    const query = runner.query.bind(runner) as (
      sql: string,
      ...rest: unknown[]
    ) => Promise<unknown>;
    /** Ends the turn of the open transaction. */
    let endTurn: (() => void) | undefined;
    return Object.assign(runner, {
      query: async (sql: string, ...rest: unknown[]) => {
        // The transaction did not begin, or SQLite has rolled it back by itself, as on a full disk.
        if (!endTurn && sql.startsWith('ROLLBACK')) return undefined;
        const end = endTurn ?? (await takeTurn());
        try {
          return await query(sql, ...rest);
        } catch (error) {
          await awaitExitIfFatal(error);
          throw error;
        } finally {
          endTurn = (driver.databaseConnection as Database).inTransaction ? end : undefined;
          if (!endTurn) end();
        }
      },
      release: async () => {
        await runner.query('ROLLBACK');
        Object.assign(runner, { isReleased: true });
      },
    });
  };
}
