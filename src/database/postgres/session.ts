/**
 * A session of the pool (pool.ts), with what TypeORM uses of pg's client.
 *
 * 1. A statement that takes too long fails at once, as its request has waited enough. cancel.ts asks the server to cancel it.
 * 2. The session hangs until the server responds to that statement. Until then it is lent to nobody, who would wait as well,
 *    and not closed, as the server might work on without it, beside the session that replaces it. Then it is closed.
 * 3. A statement that fails closes its session: the next login may find the new primary server, or mended settings.
 * 4. A commit that did not wait for the standby, as it must, succeeds with a warning. The statement fails all the same: if the
 *    primary is lost now, so is the plant.
 * 5. A proxy may have repeated a message of the server: a result that cannot be that of the statement fails it.
 */
import { DatabaseError, type PoolClient, type QueryResult, type Submittable } from 'pg';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { TOO_LONG, toStoreUnavailable } from '../store-errors.js';
import { cancelStatement } from './cancel.js';
import { OUT_OF_ORDER } from './client.js';

/** How long a session may hang while others work, or all ten hang, as a multiple of a statement's timeout. */
export const MAX_HANG_IN_TIMEOUTS = 10;

export class Session {
  readonly on: PoolClient['on'];
  readonly removeListener: PoolClient['removeListener'];
  /** Set while the session is lent. */
  returnToPool: ((close: boolean) => void) | undefined;
  /** The inspector's generation when the session was inspected. */
  inspected: number | undefined;
  /** The server's warning that the commit of the statement in flight has not reached the standby. */
  private warning: string | undefined;
  private hasFailed = false;
  private isBusy = false;
  private isHanging = false;

  constructor(
    private readonly client: PoolClient,
    /** How long a statement may take; undefined if there is no limit. The engine lifts it for a command that reads rows. */
    public timeoutMs: number | undefined,
    /** The sessions of the pool that hang, and since when. */
    private readonly hanging: Map<Session, number>,
  ) {
    this.on = client.on.bind(client);
    this.removeListener = client.removeListener.bind(client);
    client.on('notice', ({ routine, message }) => {
      // Citus passes on the text of its workers' warnings alone.
      if (routine === 'SyncRepWaitForLSN' || message?.includes('synchronous replication'))
        this.warning ??= message;
    });
  }

  /** A COPY is neither checked nor limited. @throws StoreUnavailableException if the commit could be lost; DatabaseError */
  query(query: string | Submittable, values: unknown[] = []): unknown {
    if (typeof query !== 'string') return this.client.query(query);
    // The server has rolled the transaction back, or will.
    if (this.isHanging) return Promise.reject(new StoreUnavailableException(TOO_LONG));
    const { timeoutMs } = this;
    this.isBusy = true;
    return new Promise((resolve, reject) => {
      const timer = timeoutMs && setTimeout(() => reject(this.cancel()), timeoutMs);
      // A callback costs three promises less than a promise.
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
    this.hanging.delete(this);
    this.returnToPoolOnce(true);
  }

  /** Clears the member first: the pool may lend this session again synchronously. */
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
    // Each result names a command. Only a text of several statements has several results, and it has no parameters.
    if (!error && (Array.isArray(result) ? isSingle : !result.command))
      return new StoreUnavailableException(OUT_OF_ORDER);
    if (this.warning !== undefined) return new StoreUnavailableException(this.warning);
    if (error instanceof DatabaseError) return explain(error);
    if (error) return toStoreUnavailable(error);
    this.closeLongHanging();
    return undefined;
  }

  /** The server has responded here: closes the sessions that hang for long all the same. */
  private closeLongHanging(): void {
    const longest = MAX_HANG_IN_TIMEOUTS * (this.timeoutMs ?? Infinity);
    for (const [session, since] of this.hanging)
      if (performance.now() - since > longest) session.close();
  }

  /** Lets the session hang; closes it if the server does not take the request. */
  private cancel(): Error {
    this.isHanging = true;
    this.hanging.set(this, performance.now());
    cancelStatement(this.client).catch(() => this.close());
    return new StoreUnavailableException(TOO_LONG);
  }
}

/** What to do about an error that only its place in the server's code tells: the SQLSTATE is that of other errors too. */
const ADVICE: Readonly<Record<string, string>> = {
  // `ON CONFLICT` on a table that has a rule.
  RewriteQuery:
    "`SELECT rulename, definition FROM pg_rules WHERE tablename = 'plants'` names the rule: keep its definition, and run `DROP RULE` with its name and `ON plants`",
  // The message does not quote the row.
  ExecFindPartition:
    'attach a partition for its id (`ALTER TABLE plants ATTACH PARTITION … FOR VALUES …`): the one that was detached or, only if there was none, a DEFAULT one',
};

function explain(error: DatabaseError): Error {
  const advice = ADVICE[error.routine ?? ''];
  if (advice === undefined) return error;
  return new StoreUnavailableException(`${error.message}: ${advice}`, { cause: error });
}
