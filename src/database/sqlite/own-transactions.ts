import type { DataSource, QueryRunner } from 'typeorm';

/** With what a query runner of TypeORM keeps of its transaction, which its interface lacks. */
type Runner = QueryRunner & { transactionDepth: number };

/**
 * Gives each operation of TypeORM a transaction of its own. TypeORM has one query runner for all of SQLite: a save() would
 * join the transaction of another request, resolve before its commit, and be undone by its rollback.
 */
export class OwnTransactions {
  /** Settled once the connection is free again. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: DataSource,
    private readonly timeoutMs: number,
  ) {}

  /** Lets no operation begin until then. */
  hold(until: Promise<unknown>): void {
    this.last = until;
  }

  /** @param shared the runner of all */
  createRunner(shared: QueryRunner): QueryRunner {
    const runner = Object.create(shared) as Runner;
    let endTurn: (() => void) | undefined;
    const inTurn = async <Result>(work: () => Promise<Result>): Promise<Result> => {
      endTurn ??= await this.takeTurn();
      try {
        return await work();
      } finally {
        if (!runner.isTransactionActive) {
          endTurn();
          endTurn = undefined;
        }
      }
    };
    Object.assign(runner, {
      isTransactionActive: false,
      transactionDepth: 0,
      query: (...args: Parameters<QueryRunner['query']>) =>
        inTurn(() => shared.query.call(runner, ...args)),
      startTransaction: (...args: Parameters<QueryRunner['startTransaction']>) =>
        inTurn(() => shared.startTransaction.call(runner, ...args)),
      commitTransaction: () => inTurn(() => shared.commitTransaction.call(runner)),
      rollbackTransaction: () => inTurn(() => shared.rollbackTransaction.call(runner)),
      // One that was forgotten would keep the connection.
      release: async () => {
        if (runner.isTransactionActive) await runner.rollbackTransaction();
      },
    });
    return Object.assign(runner, { manager: this.store.createEntityManager(runner) });
  }

  /** Resolves to what ends the turn. @throws Error if another one does not end, as of a transaction that waits for this one */
  private async takeTurn(): Promise<() => void> {
    const { last } = this;
    const turn: PromiseWithResolvers<void> = Promise.withResolvers();
    const over = turn.promise.catch(() => undefined);
    this.last = last.then(() => over);
    const late = new Error(
      "a transaction takes too long: within one, use its manager's repositories",
    );
    const timer = setTimeout(turn.reject, this.timeoutMs, late);
    await Promise.race([last, turn.promise]);
    clearTimeout(timer);
    return turn.resolve;
  }
}
