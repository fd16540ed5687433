import { isIP, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import {
  Client,
  Connection,
  DatabaseError,
  type ClientConfig,
  type ConnectionConfig,
  type QueryResult,
} from 'pg';
import { StoreUnavailable } from '../errors/errors.js';
import { tellsLevel, weaknessOf } from './postgres-commit-level.js';
import { toStoreUnavailable } from './store-errors.js';

/** Milliseconds in which a server that can be reached takes a request to cancel a statement. */
const CANCEL_TIMEOUT_MS = 1_000;

const TOO_LONG = 'the store took too long';

/** What the driver has, and its types lack. */
interface Backend {
  readonly processID: number | null;
  readonly secretKey: number;
  readonly connection: { readonly stream: Socket };
  /** Without options it is `true`. */
  readonly ssl: ConnectionOptions | false;
  readonly sslNegotiation: 'postgres' | 'direct';
  /** The pool lends no client that has it. */
  _ending: boolean;
}
type CancelConnection = Connection & {
  connect(...address: unknown[]): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
};

type Notice = { readonly [Field in 'routine' | 'message']: string | undefined };
type Connected = (error?: Error) => void;
type Query = (this: Client, ...args: unknown[]) => unknown;

/** Citus passes the words on, but not which routine they are of. */
const SYNC = /synchronous replication/;

/**
 * A connection that fails where a commit could be lost, and that no one is lent once a statement on it failed: it
 * may be the connection, a server that is no primary now, or the role's settings, which count from the login on.
 *
 * A statement that takes too long fails at once, and is cancelled on the server. The connection stays open until the
 * server has let go of it.
 */
export class CheckedClient extends Client {
  /** Why no answer to the statement in flight counts: it took too long, or its commit could be lost. TypeORM has one at a time. */
  warning: string | undefined;
  /** Whether the statement in flight is being cancelled. */
  isCancelling = false;
  /** Whether the latest statement wrote, and is kept by the server. */
  hasCommitted = false;
  /** Milliseconds that a statement may take; forever if undefined. */
  readonly statementTimeoutMs: number | undefined;

  constructor(config: ClientConfig & { readonly statementTimeoutMs?: number } = {}) {
    super(config);
    this.statementTimeoutMs = config.statementTimeoutMs;
    // A server that ends may say so between two statements, and no one else may be listening; the
    // next statement fails, and the pool lends the connection no more.
    this.on('error', () => undefined);
    this.on('notice', ({ routine, message = '' }: Notice) => {
      if (routine === 'SyncRepWaitForLSN' || SYNC.test(message)) this.warning ??= message;
    });
  }

  /**
   * Cancels the statement in flight by the protocol's own request, which needs no session and which poolers pass on,
   * encrypted where the connection is. What it wrote may be committed all the same. A server that does not take the
   * request is given up.
   */
  cancelStatement(): void {
    const backend = this as unknown as Backend;
    const { processID, secretKey, ssl, sslNegotiation } = backend;
    const { stream } = backend.connection;
    this.isCancelling = true;
    backend._ending = true;
    // A pooler may give no key to cancel by.
    if (!processID) {
      stream.destroy();
      return;
    }
    // The driver hides the key from a copy. The certificate is for the name.
    const servername = isIP(this.host) ? undefined : this.host;
    const tls = ssl && { ...ssl, key: ssl.key, servername };
    const request = new Connection({
      ssl: tls,
      sslNegotiation,
    } as ConnectionConfig) as CancelConnection;
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

const { query, connect, end } = Client.prototype as unknown as Record<
  'query' | 'connect' | 'end',
  Query
>;

// Assigned, since the methods have a dozen overloads. Where there is no connection, the store is
// unavailable, whatever the reason. The pool calls it with a callback.
CheckedClient.prototype.connect = function (this: CheckedClient, connected: Connected) {
  return connect.call(this, (error?: Error) => connected(error && toStoreUnavailable(error)));
} as Client['connect'];

// TypeORM waits for a promise. What is no text tells its outcome itself.
CheckedClient.prototype.query = function (this: CheckedClient, ...args: unknown[]) {
  return typeof args[0] === 'string' ? run(this, args) : query.apply(this, args);
} as Client['query'];

// The driver would break the connection of a statement in flight, and leave the server with it.
CheckedClient.prototype.end = function (this: CheckedClient, ended?: () => void) {
  if (!this.isCancelling) return end.call(this, ended);
  return ended && this.connection.once('end', ended);
} as Client['end'];

/**
 * A commit that no longer waits for the synchronous standby ends as if all were well, but for a
 * warning (postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA). One that does not
 * wait for stable storage either, since the server was reconfigured, is told by its rows' last column.
 *
 * @throws StoreUnavailable where the commit could be lost, or the connection failed; DatabaseError where the server
 *   says so, which toStoreError() tells apart
 */
function run(client: CheckedClient, [text, values]: unknown[]): Promise<QueryResult> {
  // A transaction that it broke is rolled back by the server.
  if (client.isCancelling) return Promise.reject(new StoreUnavailable(TOO_LONG));
  const { statementTimeoutMs: timeoutMs } = client;
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      client.warning = TOO_LONG;
      client.cancelStatement();
      reject(new StoreUnavailable(TOO_LONG));
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
    // With a callback it costs three promises less.
    query.call(client, text, values, (error: Error | null, answer: QueryResult) => {
      clearTimeout(timer);
      client.hasCommitted = !error && tellsLevel(answer);
      if (client.hasCommitted) client.warning ??= weaknessOf(answer);
      if (!error && client.warning === undefined) {
        resolve(answer);
        return;
      }
      client.isCancelling = false;
      void client.end();
      if (client.warning !== undefined) reject(new StoreUnavailable(client.warning));
      else reject(error instanceof DatabaseError ? error : toStoreUnavailable(error));
    });
  });
}
