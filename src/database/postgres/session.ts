import { DatabaseError, type PoolClient, type QueryResult, type Submittable } from 'pg';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { TOO_LONG, toStoreUnavailable } from '../store-errors.js';
import { cancelStatement } from './cancel.js';
import { OUT_OF_ORDER } from './client.js';

/** What a session needs of its pool. */
interface HangingSessions {
  /** How long a statement may take; forever if left out. */
  readonly timeoutMs: number | undefined;
  /** Sessions whose cancelled statement the server has not ended, and since when. */
  readonly hanging: Map<Session, number>;
  /** Called when the server has responded to a statement. */
  closeLongHanging(): void;
}

/**
 * A client of the pool, with what TypeORM uses of it. A statement that takes too long fails at once, and the session hangs
 * until the server has cancelled it. A failed statement closes it: a new login may find the primary, or other settings.
 */
export class Session {
  readonly on: PoolClient['on'];
  readonly removeListener: PoolClient['removeListener'];
  /** Set while the session is lent. */
  returnToPool: ((close: boolean) => void) | undefined;
  /** Which inspection the session has passed: one from before the latest problem is not lent any more. */
  inspected: number | undefined;
  /** Why the commit of the statement in flight could be lost. */
  private warning: string | undefined;
  private hasFailed = false;
  private isBusy = false;
  private isHanging = false;

  constructor(
    private readonly client: PoolClient,
    private readonly pool: HangingSessions,
  ) {
    this.on = client.on.bind(client);
    this.removeListener = client.removeListener.bind(client);
    client.on('notice', ({ routine, message }) => {
      // A commit that did not wait for the standby succeeds, and warns. Citus passes on the text alone.
      if (routine === 'SyncRepWaitForLSN' || message?.includes('synchronous replication'))
        this.warning ??= message;
    });
  }

  /** A COPY is neither checked nor limited. @throws StoreUnavailableException if the commit could be lost; DatabaseError */
  query(query: string | Submittable, values: unknown[] = []): unknown {
    if (typeof query !== 'string') return this.client.query(query);
    // The server rolls the transaction of the cancelled statement back.
    if (this.isHanging) return Promise.reject(new StoreUnavailableException(TOO_LONG));
    const { timeoutMs } = this.pool;
    this.isBusy = true;
    return new Promise((resolve, reject) => {
      const timer = timeoutMs && setTimeout(() => reject(this.cancel()), timeoutMs);
      // With a callback it costs three promises less.
      this.client.query(query, values, (error: Error | null, result) => {
        clearTimeout(timer);
        this.isBusy = false;
        const failure = this.findFailure(error, result, values.length > 0);
        this.hasFailed ||= failure !== undefined;
        if (this.isHanging) this.close();
        else if (failure) reject(failure);
        else resolve(result);
      });
    });
  }

  readonly release = (error?: unknown): void => {
    if (!this.isHanging) this.returnToPoolOnce(this.hasFailed || this.isBusy || Boolean(error));
  };

  /** Closes the session, and breaks its connection if a statement is in flight. */
  close(): void {
    this.pool.hanging.delete(this);
    this.returnToPoolOnce(true);
  }

  /** Clears it first: releasing may lend this session again synchronously. */
  private returnToPoolOnce(destroy: boolean): void {
    const { returnToPool } = this;
    this.returnToPool = undefined;
    returnToPool?.(destroy);
  }

  private findFailure(
    error: Error | null,
    result: QueryResult,
    isSingle: boolean,
  ): Error | undefined {
    if (!error && (Array.isArray(result) ? isSingle : !result.command))
      return new StoreUnavailableException(OUT_OF_ORDER);
    if (this.warning !== undefined) return new StoreUnavailableException(this.warning);
    if (error instanceof DatabaseError) return explainRule(error);
    if (error) return toStoreUnavailable(error);
    this.pool.closeLongHanging();
    return undefined;
  }

  /** A server that does not take the request is given up. */
  private cancel(): Error {
    this.isHanging = true;
    this.pool.hanging.set(this, performance.now());
    cancelStatement(this.client).catch(() => this.close());
    return new StoreUnavailableException(TOO_LONG);
  }
}

/** Adds advice to PostgreSQL's refusal of `ON CONFLICT` on a table that has a rule. */
function explainRule(error: DatabaseError): Error {
  if (error.routine !== 'RewriteQuery') return error;
  const advice = 'drop the rule that psql lists by `\\d plants`';
  return new StoreUnavailableException(`${error.message}: ${advice}`, { cause: error });
}
