import { once, type EventEmitter } from 'node:events';
import { isIP, Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Client, Connection, Pool, type ClientConfig, type PoolConfig, type QueryResult } from 'pg';

// The one file that uses parts of the driver `pg` which it does not document. driver.spec.ts fails if they change.

/** Called with the outcome of a statement. */
export type QueryCallback = (error: Error | null, result: QueryResult) => void;

/** The driver's client. Its types lack some members, and have overloads of the others that no method can override. */
interface DriverClient extends EventEmitter {
  readonly host: string;
  readonly port: number;
  /** The two numbers by which a statement is cancelled; null if a pooler gave none. */
  readonly processID: number | null;
  readonly secretKey: number;
  /** Without options it is `true`. */
  readonly ssl: ConnectionOptions | boolean;
  readonly connection: { readonly stream: Socket };
  query(query: unknown, values?: unknown, callback?: QueryCallback): unknown;
  /** Destroys the connection of a statement in flight, and leaves the server with it (brianc/node-postgres#2329). */
  end(ended?: () => void): unknown;
  /** Lets the process exit while the connection is open. */
  unref(): void;
}
export const DriverClient = Client as unknown as new (config: ClientConfig) => DriverClient;

/** Called with a client of the pool, or why there is none. */
export type Lend = (error?: Error, client?: unknown, release?: unknown) => void;

/** The driver's pool, whose types are as its client's. */
interface DriverPool extends EventEmitter {
  readonly totalCount: number;
  readonly idleCount: number;
  connect(lend: Lend): void;
}
export const DriverPool = Pool as unknown as new (
  config: Omit<PoolConfig, 'Client'> & { readonly Client: typeof DriverClient },
) => DriverPool;

/** The driver's connection, which writes the protocol's messages. */
interface DriverConnection extends EventEmitter {
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}
const DriverConnection = Connection as unknown as new (config: {
  readonly stream: Socket;
  readonly ssl: ConnectionOptions | false;
}) => DriverConnection;

/** How long a server may take to accept a request to cancel a statement. */
const CANCEL_TIMEOUT_MS = 1_000;

/**
 * Cancels the statement of a session by the protocol's own request, which needs no session and which poolers pass on;
 * encrypted if the session is. What the statement wrote may be committed all the same. The driver's own
 * `client.cancel()` uses no TLS (brianc/node-postgres#753 and #773; #3751 is to replace it).
 *
 * @throws Error if the server does not take the request in time
 */
export async function cancelStatement(session: DriverClient): Promise<void> {
  const { processID, secretKey, host, port, ssl } = session;
  if (!processID) throw new Error('the session has no key');
  const options = typeof ssl === 'object' ? ssl : {};
  const request = new DriverConnection({
    stream: new Socket({ signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS) }),
    ssl: ssl && {
      ...options,
      // The driver's `key` is not enumerable, so the spread lacks it.
      ...(options.key && { key: options.key }),
      // The certificate is for the name.
      host,
      ...(isIP(host) === 0 && { servername: host }),
    },
  });
  // once() below listens for the first error alone.
  request.on('error', () => undefined);
  const cancel = () => request.cancel(processID, secretKey);
  request.once('connect', () => (ssl ? request.requestSsl() : cancel()));
  request.once('sslconnect', cancel);
  // The address of the session's own server: a name may have several.
  const { remoteAddress, remotePort = 0 } = session.connection.stream;
  if (remoteAddress) request.connect(remotePort, remoteAddress);
  else request.connect(`${host}/.s.PGSQL.${port}`);
  // Not end(): PgBouncer ends with a fatal error if a client closes its side now (pgbouncer/pgbouncer#801).
  await once(request, 'end');
}

/** Texts of the driver's errors for a broken connection, which have no code (brianc/node-postgres#2780). */
const CONNECTION_LOST =
  /^(timeout exceeded when trying to connect|Connection terminated|timeout expired)/;

/** Whether an error of the driver says that the server was not reached in time, or closed the connection. */
export function isConnectionLost(error: unknown): boolean {
  return Error.isError(error) && CONNECTION_LOST.test(error.message);
}
