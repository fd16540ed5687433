import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Client, Pool, type ClientConfig, type PoolConfig, type QueryResult } from 'pg';

// The one file that uses parts of the driver `pg` which it does not document. driver.spec.ts fails if they change.

/** Called with the outcome of a statement. */
export type QueryCallback = (error: Error | null, result: QueryResult) => void;

/** What names a session to its server. */
export interface Session {
  readonly host: string;
  readonly port: number;
  /**
   * The two numbers by which a statement is cancelled; null if a pooler gave none. The driver's own `client.cancel()`
   * uses no TLS (brianc/node-postgres#753 and #773; #3751 is to replace it).
   */
  readonly processID: number | null;
  readonly secretKey: number;
  /** Without options it is `true`. */
  readonly ssl: ConnectionOptions | boolean;
  readonly connection: { readonly stream: Socket };
}

/** The driver's client. Its types lack some members, and have overloads of the others that no method can override. */
interface DriverClient extends EventEmitter, Session {
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

/** Texts of the driver's errors for a broken connection, which have no code (brianc/node-postgres#2780). */
const CONNECTION_LOST =
  /^(timeout exceeded when trying to connect|Connection terminated|timeout expired)/;

/** Whether an error of the driver says that the server was not reached in time, or closed the connection. */
export function isConnectionLost(error: unknown): boolean {
  return Error.isError(error) && CONNECTION_LOST.test(error.message);
}
