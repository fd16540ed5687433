import type { EventEmitter } from 'node:events';
import { isIP, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Client, Connection, DatabaseError, type ClientConfig, type QueryResult } from 'pg';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { hasCommitted, isWeak } from './commit-level.js';
import { TOO_LONG, toStoreUnavailable } from '../store-errors.js';

/** How long a server may take to accept a request to cancel a statement. */
const CANCEL_TIMEOUT_MS = 1_000;

/** Why a plant that may be stored is not acknowledged. */
const WEAK = 'fsync or full_page_writes is off, so that a plant could be lost';

/** Milliseconds that a statement may take; forever if left out. */
export interface StatementTimeout {
  readonly statementTimeoutMs?: number | undefined;
}

type Connected = (error?: Error) => void;
type Answered = (error: Error | null, answer: QueryResult) => void;

type DriverConnection = Connection & {
  readonly stream: Socket;
  connect(...address: unknown[]): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
};

/** What the driver's client has. Its types lack some of it, and have many overloads of the rest. */
interface DriverClient extends EventEmitter {
  readonly host: string;
  readonly port: number;
  readonly processID: number | null;
  readonly secretKey: number;
  readonly connection: DriverConnection;
  /** Without options it is `true`. */
  readonly ssl: ConnectionOptions | false;
  readonly sslNegotiation: 'postgres' | 'direct';
  /** If true, the pool lends the client to no one. */
  _ending: boolean;
  connect(connected: Connected): void;
  query(query: unknown, values?: unknown, answered?: Answered): unknown;
  end(ended?: () => void): unknown;
}
const DriverClient = Client as unknown as new (config: ClientConfig) => DriverClient;

/**
 * A connection whose statement fails if its commit could be lost. Once a statement has failed, the pool lends the
 * connection to no one: the reason may be the connection itself, a server that is no longer the primary, or settings of
 * the role, which count from the login on.
 *
 * A statement that takes too long fails at once, and is cancelled on the server. The connection stays open until the
 * server has let go of it.
 */
export class CheckedClient extends DriverClient {
  /** Whether the server has committed what the latest statement wrote. */
  hasCommitted = false;
  private readonly timeoutMs: number | undefined;
  /** Why no answer to the statement in flight counts: it took too long, or its commit could be lost. TypeORM has one at a time. */
  private warning: string | undefined;
  /** Whether the statement in flight is being cancelled. */
  private isCancelling = false;

  constructor(config: ClientConfig & StatementTimeout = {}) {
    super(config);
    this.timeoutMs = config.statementTimeoutMs;
    // A server that stops may report it between two statements, when no one else listens. The next statement fails,
    // and the pool drops the connection.
    this.on('error', () => undefined);
    this.on('notice', ({ routine, message }: Partial<Record<'routine' | 'message', string>>) => {
      // A commit did not wait for the standby. Citus passes the words on, but not which routine they are of.
      if (routine === 'SyncRepWaitForLSN' || message?.includes('synchronous replication'))
        this.warning ??= message;
    });
  }

  /** Where there is no connection, the store is unavailable, whatever the reason. */
  override connect(connected: Connected): void {
    super.connect((error) => connected(error && toStoreUnavailable(error)));
  }

  /**
   * A commit that no longer waits for the synchronous standby ends as if all were well, but for a
   * warning (postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA). If it does not
   * reach stable storage either, since the server was reconfigured, the last column of its rows says so.
   *
   * @param query SQL; whatever else the driver takes tells its outcome itself
   * @throws StoreUnavailableException where the commit could be lost, or the connection failed; DatabaseError where the server
   *   says so, which toStoreError() tells apart
   */
  override query(query: unknown, values?: unknown, answered?: Answered): unknown {
    if (typeof query !== 'string') return super.query(query, values, answered);
    // The server rolls the cancelled statement's transaction back.
    if (this.isCancelling) return Promise.reject(new StoreUnavailableException(TOO_LONG));
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.warning = TOO_LONG;
        this.cancelStatement();
        reject(new StoreUnavailableException(TOO_LONG));
      };
      const { timeoutMs } = this;
      const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
      // With a callback it costs three promises less.
      super.query(query, values, (error, answer) => {
        clearTimeout(timer);
        this.hasCommitted = !error && hasCommitted(answer);
        if (this.hasCommitted && isWeak(answer)) this.warning ??= WEAK;
        if (!error && this.warning === undefined) {
          resolve(answer);
          return;
        }
        this.isCancelling = false;
        void this.end();
        if (this.warning !== undefined) reject(new StoreUnavailableException(this.warning));
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
    // The driver's `key` is not enumerable, so the spread lacks it. The certificate is for the name.
    const servername = isIP(this.host) ? undefined : this.host;
    const config = { ssl: ssl && { ...ssl, key: ssl.key, servername }, sslNegotiation };
    const request = new Connection(config) as DriverConnection;
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
    // The address of the session's own server: a name may have several.
    const { remoteAddress, remotePort } = stream;
    if (remoteAddress) request.connect(remotePort, remoteAddress);
    else request.connect(`${this.host}/.s.PGSQL.${this.port}`);
  }
}
