import type { DataSource, QueryRunner } from 'typeorm';
import { StoreUnavailableException } from '../../errors/error-codes.js';

const IDLE = { isTransactionActive: false, transactionDepth: 0 };

/**
 * Gives each operation of TypeORM a transaction of its own. TypeORM has one query runner for all of SQLite: a save() would
 * join the transaction of another request, resolve before its commit, and be undone by its rollback.
 */
export class OwnTransactions {
  /** Settled once the connection is free again. */
  private last: Promise<unknown> = Promise.resolve();
  private held: Promise<unknown> | undefined;

  /** @param isInTransaction whether the connection is in one */
  constructor(
    private readonly store: DataSource,
    private readonly isInTransaction: () => boolean,
    private readonly timeoutMs: number,
  ) {}

  /** Lets no operation begin until then. */
  hold(until: Promise<unknown>): void {
    this.held = until;
  }

  /** @param shared the runner of all */
  createRunner(shared: QueryRunner): QueryRunner {
    const runner = Object.create(shared) as QueryRunner;
    let turn: Disposable | undefined;
    const endTurn = () => {
      turn?.[Symbol.dispose]();
      turn = undefined;
    };
    const inTurn = async <Result>(work: () => Promise<Result>): Promise<Result> => {
      turn ??= await this.takeTurn();
      try {
        return await work();
      } finally {
        if (!runner.isTransactionActive) endTurn();
      }
    };
    Object.assign(runner, IDLE, {
      query: (...args: Parameters<QueryRunner['query']>) =>
        inTurn(() => shared.query.call(runner, ...args)),
      startTransaction: (...args: Parameters<QueryRunner['startTransaction']>) =>
        inTurn(() => shared.startTransaction.call(runner, ...args)),
      commitTransaction: () => inTurn(() => shared.commitTransaction.call(runner)),
      rollbackTransaction: () =>
        inTurn(async () => {
          // SQLite may have rolled back by itself, as on a full disk.
          if (this.isInTransaction()) await shared.rollbackTransaction.call(runner);
          else Object.assign(runner, IDLE);
        }),
      release: async () => {
        // One that was forgotten would keep the connection.
        if (runner.isTransactionActive) await runner.rollbackTransaction();
        Object.assign(runner, { isReleased: true });
      },
    });
    return Object.assign(runner, { manager: this.store.createEntityManager(runner) });
  }

  /** @throws StoreUnavailableException if another one does not end, as of a transaction that waits for this one */
  private async takeTurn(): Promise<Disposable> {
    const { last } = this;
    const turn: PromiseWithResolvers<void> = Promise.withResolvers();
    const over = turn.promise.catch(() => undefined);
    this.last = last.then(() => over);
    const late = new StoreUnavailableException(
      "a transaction takes too long: within one, use its manager's repositories",
    );
    const timer = setTimeout(turn.reject, this.timeoutMs, late);
    await Promise.race([last, turn.promise]);
    clearTimeout(timer);
    await this.held;
    return { [Symbol.dispose]: turn.resolve };
  }
}
