import type { EventEmitter } from 'node:events';
import { userInfo } from 'node:os';
import { defaults, Pool, type Client, type PoolConfig } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { Logger, getStatementTimeoutMs, WritePath, type Engine } from '../engine.js';
import { ALL_SETTINGS, describeWeakness, type Settings } from './commit-level.js';
import { CheckedClient, type StatementTimeout } from './client.js';
import { postgresReader } from './reader.js';
import { isUnavailable, toStoreError } from '../store-errors.js';

/** Sessions of a process: for its groups in flight, and for lookups of tokens. */
const MAX_SESSIONS = 8;

/** Sessions that may be opened beyond the pool's places, to replace sessions that the server still holds. */
const SPARE_SESSIONS = 2;

/**
 * How many times a statement's timeout a session may be held before its connection is destroyed, if the server commits
 * in other sessions meanwhile. The connection may be dead without notice, for example behind a proxy.
 */
const MAX_HELD_TIMEOUTS = 10;

/** Names the advisory lock under which migrations run: "plant" in ASCII. */
const MIGRATION_LOCK = 0x70_6c_61_6e_74;

/** Codes of a refused name, password, database or table: another try would be refused too. */
const REFUSED = /^(28|3D|42P01)/;

/** What the driver's pool has, and its types lack. */
interface DriverPool extends EventEmitter {
  readonly options: { max: number };
  connect(lent: (error: Error) => void): void;
  /** Takes a client out, and closes its connection. */
  _remove(client: CheckedClient, removed?: () => void): void;
}
const DriverPool = Pool as unknown as new (config: PoolConfig) => DriverPool;

/**
 * A pool that counts the sessions that the server still holds: a statement that waits for a dead disk cannot be
 * cancelled. Once the server holds as many as the pool's places and the spare ones, new work fails at once.
 */
class CheckedPool extends DriverPool {
  private readonly places = this.options.max;
  /** When each client that is not closed yet was taken out, by performance.now(). */
  private readonly held = new Map<CheckedClient, number>();

  constructor(config: PoolConfig & StatementTimeout) {
    super({ ...config, Client: CheckedClient as unknown as typeof Client });
    const maxHeldMs = MAX_HELD_TIMEOUTS * (config.statementTimeoutMs ?? Infinity);
    this.on('release', (_error, { hasCommitted }: CheckedClient) => {
      if (this.held.size === 0 || !hasCommitted) return;
      const before = performance.now() - maxHeldMs;
      for (const [client, since] of this.held)
        if (since < before) client.connection.stream.destroy();
    });
  }

  override connect(lent: (error: Error) => void): void {
    if (this.options.max > 0) super.connect(lent);
    else lent(new StoreUnavailableException('the server ends none of our sessions'));
  }

  override _remove(client: CheckedClient, removed?: () => void): void {
    // The process may exit meanwhile.
    client.connection.stream.unref();
    this.held.set(client, performance.now());
    this.limit();
    super._remove(client, () => {
      this.held.delete(client);
      this.limit();
      removed?.();
    });
  }

  private limit(): void {
    this.options.max = Math.min(this.places, this.places + SPARE_SESSIONS - this.held.size);
  }
}

/**
 * Writes over TypeORM's pool, which TypeORM ends. There is no session state and no named statement, so a pooler may
 * stand between.
 */
class PostgresWritePath extends WritePath {
  /** See docs/performance.md: the slower a commit, the more there is in it. */
  readonly concurrency = 4;

  constructor(readonly manager: EntityManager) {
    super();
  }
}

/** PostgreSQL, on one server or on many: nothing here that a connection pooler or Citus lacks. */
export const postgres: Engine = {
  system: 'postgresql',
  reader: postgresReader,
  // The lock is the transaction's, not the session's, so that it works through a pooler. Citus passes the setting after
  // it on to its workers; other servers have no use for it. A change of a table that waits for its lock, behind a dump
  // say, makes every plant wait behind it: it gives up before their requests do, and changes nothing.
  beginMigration: `
    BEGIN;
    SELECT pg_advisory_xact_lock(${String(MIGRATION_LOCK)});
    SET LOCAL citus.propagate_set_commands = 'local';
    SET LOCAL lock_timeout = '1s'`,

  connect(config, access) {
    const timeoutMs = getStatementTimeoutMs(config);
    defaults.user ??= findSystemUser();
    return {
      type: 'postgres',
      driver: { Pool: CheckedPool },
      url: config.databaseUrl,
      applicationName: 'plant-store',
      poolSize: MAX_SESSIONS,
      connectTimeoutMS: timeoutMs,
      installExtensions: false,
      // An idle connection broke: the pool has dropped it already.
      poolErrorHandler: (error: Error) => new Logger('Store').debug(error.message),
      extra: {
        // What only reads takes as long as it takes.
        statementTimeoutMs: access === 'read' ? undefined : timeoutMs,
        keepAlive: true,
      },
    };
  },

  openWritePath: (store) => new PostgresWritePath(store.manager),
  // The server recovers by itself, and a lookup of stored plants waits for stable storage.
  assertDurable,
  isUnavailableAtStart,
};

/** Finds the user that PostgreSQL's own clients take where neither the address nor the environment names one. */
function findSystemUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    // The user of a container may have no name.
    return undefined;
  }
}

function isUnavailableAtStart(error: unknown): boolean {
  const reason = toStoreError(error);
  if (!(reason instanceof StoreUnavailableException)) return false;
  const { cause } = reason;
  // Without a cause it is a warning that a commit did not wait.
  if (cause === undefined) return true;
  return isUnavailable(cause) && !REFUSED.test(String((cause as { code?: unknown }).code));
}

/** Checks that the server keeps commits, and that the database can store every character. */
async function assertDurable(store: DataSource): Promise<void> {
  const [settings = {}] = await store.query<Settings[]>(`SELECT ${ALL_SETTINGS}`);
  const weakness = describeWeakness(settings);
  if (weakness !== undefined) throw new Error(weakness);
}
