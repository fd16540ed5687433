import type { EventEmitter } from 'node:events';
import { isIP, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import {
  Client,
  Connection,
  DatabaseError,
  Pool,
  type ClientConfig,
  type PoolConfig,
  type QueryResult,
} from 'pg';
import { StoreUnavailable } from '../errors/errors.js';
import { tellsLevel, weaknessOf } from './postgres-commit-level.js';
import { toStoreUnavailable } from './store-errors.js';

/** Milliseconds in which a server that can be reached takes a request to cancel a statement. */
const CANCEL_TIMEOUT_MS = 1_000;

/** Sessions beyond the pool's places that the server has at most, while it does not let go of others. */
const SPARE_SESSIONS = 2;

/**
 * How many times a statement's timeout a session is left to a server that commits others. Its connection may lead
 * nowhere any more, unnoticed, as through a proxy.
 */
const MAX_HELD_TIMEOUTS = 10;

const TOO_LONG = 'the store took too long';

/** Citus passes the words on, but not which routine they are of. */
const SYNC_WARNING = /synchronous replication/;

/** Milliseconds that a statement may take; forever if left out. */
interface StatementTimeout {
  readonly statementTimeoutMs?: number | undefined;
}

type Notice = { readonly [Field in 'routine' | 'message']: string | undefined };
type Connected = (error?: Error) => void;
type Lent = (error: Error | undefined, client: undefined, release: () => void) => void;
type Answered = (error: Error | null, answer: QueryResult) => void;

/** What the driver's client has. Its types lack some of it, and have many overloads of the rest. */
interface DriverClient extends EventEmitter {
  readonly host: string;
  readonly port: number;
  readonly processID: number | null;
  readonly secretKey: number;
  readonly connection: Connection & { readonly stream: Socket };
  /** Without options it is `true`. */
  readonly ssl: ConnectionOptions | false;
  readonly sslNegotiation: 'postgres' | 'direct';
  /** The pool lends no client that has it. */
  _ending: boolean;
  connect(connected: Connected): void;
  query(query: unknown, values?: unknown, answered?: Answered): unknown;
  end(ended?: () => void): unknown;
}
const DriverClient = Client as unknown as new (config: ClientConfig) => DriverClient;

type CancelConnection = Connection & {
  connect(...address: unknown[]): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
};

/**
 * A connection that fails where a commit could be lost, and that no one is lent once a statement on it failed: it
 * may be the connection, a server that is no primary now, or the role's settings, which count from the login on.
 *
 * A statement that takes too long fails at once, and is cancelled on the server. The connection stays open until the
 * server has let go of it.
 */
export class CheckedClient extends DriverClient {
  /** Whether the latest statement wrote, and is kept by the server. */
  hasCommitted = false;
  private readonly timeoutMs: number | undefined;
  /** Why no answer to the statement in flight counts: it took too long, or its commit could be lost. TypeORM has one at a time. */
  private warning: string | undefined;
  /** Whether the statement in flight is being cancelled. */
  private isCancelling = false;

  constructor(config: ClientConfig & StatementTimeout = {}) {
    super(config);
    this.timeoutMs = config.statementTimeoutMs;
    // A server that ends may say so between two statements, and no one else may be listening; the
    // next statement fails, and the pool lends the connection no more.
    this.on('error', () => undefined);
    this.on('notice', ({ routine, message = '' }: Notice) => {
      if (routine === 'SyncRepWaitForLSN' || SYNC_WARNING.test(message)) this.warning ??= message;
    });
  }

  /** Where there is no connection, the store is unavailable, whatever the reason. */
  override connect(connected: Connected): void {
    super.connect((error) => connected(error && toStoreUnavailable(error)));
  }

  /**
   * A commit that no longer waits for the synchronous standby ends as if all were well, but for a
   * warning (postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA). One that does not
   * wait for stable storage either, since the server was reconfigured, is told by its rows' last column.
   *
   * @param query SQL; whatever else the driver takes tells its outcome itself
   * @throws StoreUnavailable where the commit could be lost, or the connection failed; DatabaseError where the server
   *   says so, which toStoreError() tells apart
   */
  override query(query: unknown, values?: unknown, answered?: Answered): unknown {
    if (typeof query !== 'string') return super.query(query, values, answered);
    // A transaction that it broke is rolled back by the server.
    if (this.isCancelling) return Promise.reject(new StoreUnavailable(TOO_LONG));
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.warning = TOO_LONG;
        this.cancelStatement();
        reject(new StoreUnavailable(TOO_LONG));
      };
      const { timeoutMs } = this;
      const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
      // With a callback it costs three promises less.
      super.query(query, values, (error, answer) => {
        clearTimeout(timer);
        this.hasCommitted = !error && tellsLevel(answer);
        if (this.hasCommitted) this.warning ??= weaknessOf(answer);
        if (!error && this.warning === undefined) {
          resolve(answer);
          return;
        }
        this.isCancelling = false;
        void this.end();
        if (this.warning !== undefined) reject(new StoreUnavailable(this.warning));
        else reject(error instanceof DatabaseError ? error : toStoreUnavailable(error));
      });
    });
  }

  /** The driver would break the connection of a statement in flight, and leave the server with it. */
  override end(ended?: () => void): unknown {
    if (!this.isCancelling) return super.end(ended);
    return ended && this.connection.once('end', ended);
  }

  /**
   * Cancels the statement in flight by the protocol's own request, which needs no session and which poolers pass on,
   * encrypted where the connection is. What it wrote may be committed all the same. A server that does not take the
   * request is given up.
   */
  private cancelStatement(): void {
    const { processID, secretKey, ssl, sslNegotiation } = this;
    const { stream } = this.connection;
    this.isCancelling = true;
    this._ending = true;
    // A pooler may give no key to cancel by.
    if (!processID) {
      stream.destroy();
      return;
    }
    // The driver hides the key from a copy. The certificate is for the name.
    const servername = isIP(this.host) ? undefined : this.host;
    const config = { ssl: ssl && { ...ssl, key: ssl.key, servername }, sslNegotiation };
    const request = new Connection(config) as CancelConnection;
    if (ssl && sslNegotiation !== 'direct') request.on('connect', () => request.requestSsl());
    const cancel = () => request.cancel(processID, secretKey);
    // The driver says `sslconnect` before the certificate is verified.
    if (ssl) request.on('sslconnect', () => request.stream.once('secureConnect', cancel));
    else request.on('connect', cancel);
    request.on('error', () => stream.destroy());
    const timer = setTimeout(() => {
      stream.destroy();
      request.stream.destroy();
    }, CANCEL_TIMEOUT_MS);
    request.on('end', () => clearTimeout(timer));
    // The very server that has the session: a name may have several.
    const { remoteAddress, remotePort } = stream;
    if (remoteAddress) request.connect(remotePort, remoteAddress);
    else request.connect(`${this.host}/.s.PGSQL.${this.port}`);
  }
}

/** What the driver's pool has, and its types lack: it takes a client out, and closes its connection. */
interface DriverPool extends EventEmitter {
  readonly options: { max: number };
  connect(lent: Lent): void;
  _remove(client: CheckedClient, removed?: () => void): void;
}
const DriverPool = Pool as unknown as new (config: PoolConfig) => DriverPool;

/**
 * A pool that opens no new session for one that the server still holds: a statement that the disk does not answer, say,
 * cannot be cancelled. Once they are as many as its places and the spare ones, new work fails at once.
 */
export class CheckedPool extends DriverPool {
  private readonly places = this.options.max;
  private readonly maxHeldMs: number;
  /** Taken out, and not closed yet: since when, by performance.now(). */
  private readonly held = new Map<CheckedClient, number>();

  constructor(config: PoolConfig & StatementTimeout) {
    super({ ...config, Client: CheckedClient as unknown as typeof Client });
    this.maxHeldMs = MAX_HELD_TIMEOUTS * (config.statementTimeoutMs ?? Infinity);
    this.on('release', (_error, client: CheckedClient) => {
      if (this.held.size > 0 && client.hasCommitted) this.abandonHeld();
    });
  }

  override connect(lent: Lent): void {
    if (this.options.max > 0) super.connect(lent);
    else
      lent(
        new StoreUnavailable('the server ends none of our sessions'),
        undefined,
        () => undefined,
      );
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

  private abandonHeld(): void {
    const before = performance.now() - this.maxHeldMs;
    for (const [client, since] of this.held) if (since < before) client.connection.stream.destroy();
  }
}
