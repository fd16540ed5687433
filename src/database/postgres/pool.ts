import {
  DatabaseError,
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryResult,
  type Submittable,
} from 'pg';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { readCode } from '../engine.js';
import { TOO_LONG, toStoreUnavailable } from '../store-errors.js';
import { cancelStatement } from './cancel.js';
import { OUT_OF_ORDER, SessionClient } from './client.js';
import { explain, HazardFinder } from './safety.js';

/** 8 for groups in flight, lookups of tokens and the like, 2 to replace those that hang. */
const MAX_SESSIONS = 10;
/** How long a session may hang while others commit, in timeouts of a statement: its connection may be dead. */
const MAX_HANG_IN_TIMEOUTS = 10;
/** too_many_connections (postgresql.org/docs/current/errcodes-appendix.html). */
const TOO_MANY = '53300';
const TOO_MANY_RETRY_MS = 50;

/**
 * A client of the pool, with what TypeORM uses of it. A statement that takes too long fails at once, and the session hangs
 * until the server has cancelled it. A failed statement closes it: a new login may find the primary, or other settings.
 */
class Session {
  readonly on: PoolClient['on'];
  readonly removeListener: PoolClient['removeListener'];
  /** Set while the session is lent. */
  returnToPool: ((close: boolean) => void) | undefined;
  /** Why the commit of the statement in flight could be lost, or may not see every row. */
  private warning: string | undefined;
  private hasFailed = false;
  private isBusy = false;
  private isHanging = false;

  constructor(
    private readonly client: PoolClient,
    private readonly pool: CheckedPool,
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
    const reported = error ? undefined : this.pool.hazards.find(result);
    this.warning ??= reported?.reason;
    if (this.warning !== undefined) return new StoreUnavailableException(this.warning);
    if (error instanceof DatabaseError) return explain(error, this.client.user);
    if (error) return toStoreUnavailable(error);
    if (reported) this.pool.recordCommit();
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

/** The pool, with what TypeORM uses of it. */
export class CheckedPool {
  /** Sessions whose cancelled statement the server has not ended, and since when. */
  readonly hanging = new Map<Session, number>();
  /** How long a statement may take; forever if left out. */
  readonly timeoutMs: number | undefined;
  readonly hazards = new HazardFinder();
  private readonly pool: Pool;
  private readonly sessions = new WeakMap<PoolClient, Session>();

  constructor(config: PoolConfig & { readonly statementTimeoutMs?: number | undefined }) {
    this.pool = new Pool({ ...config, max: MAX_SESSIONS, Client: SessionClient });
    this.timeoutMs = config.statementTimeoutMs;
  }

  on(event: 'error', listener: (error: Error) => void): void {
    this.pool.on(event, listener);
  }

  /**
   * Fails at once if all sessions hang. Without one the database is unavailable, whatever the reason. If the role or the server
   * may have no more, waits for half a timeout: one of ours may become idle.
   */
  connect(
    lend: (error?: Error, session?: Session, release?: Session['release']) => void,
    until = performance.now() + (this.timeoutMs ?? 0) / 2,
  ): void {
    if (this.hanging.size >= MAX_SESSIONS) {
      const reason = 'no session available: the server has not closed the old ones';
      lend(new StoreUnavailableException(reason));
      return;
    }
    this.pool.connect((error, client, release: (close: boolean) => void) => {
      if (client) {
        const session = this.sessions.get(client) ?? new Session(client, this);
        this.sessions.set(client, session);
        session.returnToPool = release;
        lend(undefined, session, session.release);
      } else if (readCode(error) === TOO_MANY && performance.now() < until)
        setTimeout(() => this.connect(lend, until), TOO_MANY_RETRY_MS);
      else lend(toStoreUnavailable(error));
    });
  }

  /** Closes sessions that hang for long: the server commits in another one. */
  recordCommit(): void {
    const longest = MAX_HANG_IN_TIMEOUTS * (this.timeoutMs ?? Infinity);
    for (const [session, since] of this.hanging)
      if (performance.now() - since > longest) session.close();
  }

  /** Closes the sessions that hang, too: the server has been asked to cancel their statements. */
  end(ended: () => void): void {
    for (const session of this.hanging.keys()) session.close();
    this.pool.end(ended);
  }
}
