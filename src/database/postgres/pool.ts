// A create, step 11 of 13, on PostgreSQL: lends a session for the statement.
import type { PoolConfig } from 'pg';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { toStoreUnavailable } from '../store-errors.js';
import { CheckedClient, type StatementTimeout } from './client.js';
import { DriverPool, type Lend } from './driver.js';

/** Sessions of a process: for its groups in flight, and for lookups of tokens. */
export const MAX_SESSIONS = 8;

/** Sessions that may be opened beyond those, to replace sessions that the server still holds. */
const SPARE_SESSIONS = 2;

/**
 * How many times a statement's timeout a session may be held before its connection is destroyed, if the server commits
 * in other sessions meanwhile. The connection may be dead without notice, for example behind a proxy.
 */
const MAX_HELD_TIMEOUTS = 10;

/**
 * A pool that counts the sessions that the server still holds: a statement that waits for a dead disk cannot be
 * cancelled. Once those and the pool's own are as many as may be open, a session that would be opened fails at once.
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
    if (opens && totalCount + held.size >= MAX_SESSIONS + SPARE_SESSIONS)
      lend(
        new StoreUnavailableException(
          'no session available: the server has not closed the old ones',
        ),
      );
    else super.connect((error, ...lent) => lend(error && toStoreUnavailable(error), ...lent));
  }
}
