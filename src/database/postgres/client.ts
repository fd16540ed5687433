// Lends a session, runs the statement, and checks its commit.
import { DatabaseError, type ClientConfig, type PoolConfig } from 'pg';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { TOO_LONG, toStoreUnavailable } from '../store-errors.js';
import {
  cancelStatement,
  DriverClient,
  DriverPool,
  type Lend,
  type QueryCallback,
} from './driver.js';
import { isCommitDurable } from './writer.js';

/** Sessions of a process: for its groups in flight, and for lookups of tokens. */
export const MAX_SESSIONS = 8;
/** Sessions beyond those, which replace sessions that the server still holds. */
const SPARE_SESSIONS = 2;
/** How long a session may be held, in timeouts of a statement: its connection may be dead without notice. */
const MAX_HELD_TIMEOUTS = 10;

/** Why a plant that may be stored is not acknowledged. */
const WEAK = 'fsync or full_page_writes is off, so that a plant could be lost';

interface StatementTimeout {
  /** Forever if left out. */
  readonly statementTimeoutMs?: number | undefined;
}

/**
 * A connection whose statement fails if its commit could be lost. After a failed statement the pool closes the
 * connection: the reason may be the connection itself, a server that is no longer the primary, or a setting of the
 * role, which is read at the login.
 *
 * A statement that takes too long fails at once, and is cancelled on the server. The connection stays open until the
 * server has ended the statement.
 */
export class CheckedClient extends DriverClient {
  /** Whether the latest statement wrote plants, and the server has committed it. */
  hasCommitted = false;
  private readonly timeoutMs: number | undefined;
  /** Why the commit of the statement in flight could be lost. */
  private warning: string | undefined;
  private isCancelling = false;

  constructor(config: ClientConfig & StatementTimeout) {
    super(config);
    this.timeoutMs = config.statementTimeoutMs;
    // A server that stops may report it between two statements, when no one else listens. The next statement fails.
    this.on('error', () => undefined);
    this.on('notice', ({ routine, message }: Partial<Record<'routine' | 'message', string>>) => {
      // A commit did not wait for the standby. Citus passes on the text, but not the routine.
      if (routine === 'SyncRepWaitForLSN' || message?.includes('synchronous replication'))
        this.warning ??= message;
    });
  }

  /**
   * A commit that did not wait for the synchronous standby succeeds, with a warning
   * (postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA).
   *
   * @param query SQL; anything else that the driver takes is not checked
   * @throws StoreUnavailableException if the commit could be lost, or the connection failed; DatabaseError if the server
   *   reports one, which toStoreError() tells apart
   */
  override query(query: unknown, values?: unknown, callback?: QueryCallback): unknown {
    if (typeof query !== 'string') return super.query(query, values, callback);
    // The server rolls the cancelled statement's transaction back.
    if (this.isCancelling) return Promise.reject(new StoreUnavailableException(TOO_LONG));
    return new Promise((resolve, reject) => {
      const timer = this.timeoutMs && setTimeout(() => reject(this.giveUp()), this.timeoutMs);
      // With a callback it costs three promises less.
      super.query(query, values, (error, result) => {
        clearTimeout(timer);
        const isDurable = error ? undefined : isCommitDurable(result);
        this.hasCommitted = isDurable !== undefined;
        if (isDurable === false) this.warning ??= WEAK;
        if (this.isCancelling) {
          this.isCancelling = false;
          super.end();
        } else if (error || this.warning !== undefined) reject(this.fail(error));
        else resolve(result);
      });
    });
  }

  /** Waits for a statement that is being cancelled: the driver would leave the server with it. */
  override end(ended?: () => void): unknown {
    this.emit('ending');
    // The process may exit meanwhile.
    this.unref();
    if (!this.isCancelling) return super.end(ended);
    return ended && this.once('end', ended);
  }

  /** Breaks the connection. */
  destroy(): void {
    this.connection.stream.destroy();
  }

  /** Cancels the statement in flight. A server that does not take the request is given up. */
  private giveUp(): Error {
    this.isCancelling = true;
    cancelStatement(this).catch(() => this.destroy());
    return this.drop(new StoreUnavailableException(TOO_LONG));
  }

  private fail(error: Error | null): Error {
    if (this.warning !== undefined) return this.drop(new StoreUnavailableException(this.warning));
    return this.drop(error instanceof DatabaseError ? error : toStoreUnavailable(error));
  }

  /** Makes TypeORM return the connection to the pool as broken, and the pool close it. */
  private drop(error: Error): Error {
    this.emit('error', error);
    return error;
  }
}

/**
 * A pool that counts the sessions that the server still holds: a statement that waits for a dead disk cannot be
 * cancelled. Once those and the pool's own are as many as may be open, opening another one fails at once. A session that
 * is held for long is destroyed if the server commits in other sessions meanwhile.
 */
export class CheckedPool extends DriverPool {
  /** When each client that the server has not closed yet was to end, by performance.now(). */
  private readonly held = new Map<CheckedClient, number>();

  constructor(config: PoolConfig & StatementTimeout) {
    super({ ...config, Client: CheckedClient });
    const { held } = this;
    const maxHeldMs = MAX_HELD_TIMEOUTS * (config.statementTimeoutMs ?? Infinity);
    this.on('connect', (client: CheckedClient) => {
      client.once('ending', () => held.set(client, performance.now()));
    });
    this.on('remove', (client: CheckedClient) => held.delete(client));
    this.on('release', (_error, { hasCommitted }: CheckedClient) => {
      if (held.size === 0 || !hasCommitted) return;
      const before = performance.now() - maxHeldMs;
      for (const [client, since] of held) if (since < before) client.destroy();
    });
  }

  /** Without a connection the database is unavailable, whatever the reason. */
  override connect(lend: Lend): void {
    const { totalCount, idleCount, held } = this;
    const opens = idleCount === 0 && totalCount < MAX_SESSIONS;
    if (opens && totalCount + held.size >= MAX_SESSIONS + SPARE_SESSIONS) {
      const reason = 'no session available: the server has not closed the old ones';
      lend(new StoreUnavailableException(reason));
    } else super.connect((error, ...lent) => lend(error && toStoreUnavailable(error), ...lent));
  }
}
