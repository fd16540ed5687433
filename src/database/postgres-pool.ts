import type { Socket } from 'node:net';
import { Pool, type PoolConfig } from 'pg';
import { StoreUnavailable } from '../errors/errors.js';
import { CheckedClient } from './postgres-client.js';

/** Sessions beyond the pool's places that the server has at most, while it does not let go of others. */
const SPARE = 2;

/**
 * How many times a statement's timeout a session is left to a server that commits others. Its connection may lead
 * nowhere any more, unnoticed, as through a proxy.
 */
const MAX_HELD_TIMEOUTS = 10;

type Lent = (error: Error | undefined, client: undefined, release: () => void) => void;
type Connect = (this: Pool, lent: Lent) => void;

/** What the driver's pool has, and its types lack: it takes a client out, and closes its connection. */
type OwnPool = Pool & { _remove(client: CheckedClient, removed?: () => void): void };
const OwnPool = Pool as unknown as new (config: PoolConfig) => OwnPool;

/**
 * A pool that opens no new session for one that the server still holds: a statement that the disk does not answer, say,
 * cannot be cancelled. Once they are as many as its places and the spare ones, new work fails at once.
 */
export class CheckedPool extends OwnPool {
  private readonly places = this.options.max;
  private readonly maxHeldMs: number;
  /** Taken out, and not closed yet: since when, by performance.now(). */
  private readonly held = new Map<CheckedClient, number>();

  constructor(config: PoolConfig & { readonly statementTimeoutMs?: number }) {
    super({ ...config, Client: CheckedClient });
    this.maxHeldMs = MAX_HELD_TIMEOUTS * (config.statementTimeoutMs ?? Infinity);
    this.on('release', (_error, client) => {
      if (this.held.size > 0 && (client as unknown as CheckedClient).hasCommitted) this.abandon();
    });
  }

  override _remove(client: CheckedClient, removed?: () => void): void {
    // The process may exit meanwhile.
    (client.connection.stream as Socket).unref();
    this.held.set(client, performance.now());
    this.count();
    super._remove(client, () => {
      this.held.delete(client);
      this.count();
      removed?.();
    });
  }

  private count(): void {
    this.options.max = Math.min(this.places, this.places + SPARE - this.held.size);
  }

  private abandon(): void {
    const before = performance.now() - this.maxHeldMs;
    for (const [client, since] of this.held) if (since < before) client.connection.stream.destroy();
  }
}

const { connect } = Pool.prototype as unknown as { readonly connect: Connect };

// TypeORM calls it with a callback.
CheckedPool.prototype.connect = function (this: CheckedPool, lent: Lent) {
  if (this.options.max > 0) connect.call(this, lent);
  else
    lent(new StoreUnavailable('the server ends none of our sessions'), undefined, () => undefined);
} as Pool['connect'];
