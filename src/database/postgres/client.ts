// A create, step 11 of 13, on PostgreSQL: runs the statement, and checks that its commit is durable.
import { DatabaseError, type ClientConfig } from 'pg';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { TOO_LONG, toStoreUnavailable } from '../store-errors.js';
import { cancelStatement } from './cancel.js';
import { hasCommitted, isWeak } from './commit-level.js';
import { DriverClient, type QueryCallback } from './driver.js';

/** Why a plant that may be stored is not acknowledged. */
const WEAK = 'fsync or full_page_writes is off, so that a plant could be lost';

/** Milliseconds that a statement may take; forever if left out. */
export interface StatementTimeout {
  readonly statementTimeoutMs?: number | undefined;
}

/**
 * A connection whose statement fails if its commit could be lost. After a failed statement the pool closes the
 * connection. The connection itself may be the reason, or a server that is no longer the primary, or settings of the
 * role, which are read at the login.
 *
 * A statement that takes too long fails at once, and is cancelled on the server. The connection stays open until the
 * server has ended the statement.
 */
export class CheckedClient extends DriverClient {
  /** Whether the server has committed what the latest statement wrote. */
  hasCommitted = false;
  private readonly timeoutMs: number | undefined;
  /** Why the statement in flight fails, whatever its result: it took too long, or its commit could be lost. */
  private warning: string | undefined;
  /** Whether the statement in flight is being cancelled. */
  private isCancelling = false;

  constructor(config: ClientConfig & StatementTimeout = {}) {
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
   * (postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA). A commit that did not reach stable
   * storage, because the server was reconfigured, has NULL in the last column of its rows.
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
        this.hasCommitted = !error && hasCommitted(result);
        if (this.hasCommitted && isWeak(result)) this.warning ??= WEAK;
        if (this.isCancelling) this.endCancelled();
        else if (error || this.warning !== undefined) reject(this.fail(error));
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
    this.warning = TOO_LONG;
    this.isCancelling = true;
    cancelStatement(this).catch(() => this.destroy());
    return this.drop(new StoreUnavailableException(TOO_LONG));
  }

  /** Closes the connection once the statement that was cancelled has ended. */
  private endCancelled(): void {
    this.isCancelling = false;
    void super.end();
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
