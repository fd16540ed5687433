import { createConnection, type Socket } from 'node:net';
import { Client, DatabaseError, type ClientConfig, type QueryResult } from 'pg';
import { StoreUnavailable } from '../errors/errors.js';
import { toStoreUnavailable } from './store-errors.js';

/**
 * Name of the last column of a statement that writes, by which each of its rows tells the level that it is
 * committed at. On Citus each row may come from another server.
 */
const LEVEL_COLUMN = 'synchronous_commit';

/** The settings by which a commit could be lost, what each may be, and what to set it to. */
const SETTINGS = [
  ['synchronous_commit', /^(on|remote_apply)$/, 'on or remote_apply'],
  ['fsync', /^on$/, 'on'],
  ['full_page_writes', /^on$/, 'on'],
  // It hides the warning that a commit did not wait for the standby.
  ['client_min_messages', /^(?!error)/, 'warning'],
] as const;

const get = (name: string) => `current_setting('${name}')`;
const keep = (name: string) => `set_config('${name}', ${get(name)}, true)`;

/** What stands in that column: what the server has of them. */
export const COMMIT_LEVEL = `concat_ws(' ', ${SETTINGS.map(([name]) => get(name)).join(', ')})`;

/**
 * The same, and keeps a reload of the server from changing what counts at the commit between the statement and its
 * commit.
 */
export const KEPT_COMMIT_LEVEL = `
  concat_ws(' ', ${keep('synchronous_commit')}, ${get('fsync')}, ${get('full_page_writes')},
    ${keep('client_min_messages')})`;

/** Milliseconds in which a server that can be reached takes a request to cancel a statement. */
const CANCEL_TIMEOUT_MS = 1_000;

/**
 * Milliseconds for which a connection waits for a server that does not let go of it. A statement that the disk does
 * not answer cannot be cancelled; a connection through a proxy may lead nowhere any more, unnoticed.
 */
const MAX_HELD_MS = 30_000;

/** Code of the protocol's request to cancel (postgresql.org/docs/current/protocol-message-formats.html). */
const CANCEL_REQUEST = 80_877_102;

/** What the driver has, and its types lack. */
interface Backend {
  readonly processID: number | null;
  readonly secretKey: number;
  readonly connection: { readonly stream: Socket };
}

type Notice = { readonly [Field in 'routine' | 'message']: string | undefined };
type Connected = (error?: Error) => void;
type Query = (this: Client, ...args: unknown[]) => unknown;

/** Citus passes the words on, but not which routine they are of. */
const SYNC = /synchronous replication/;

/**
 * A connection that fails where a commit could be lost, and that no one is lent once a statement on it failed: it
 * may be the connection, a server that is no primary now, or the role's settings, which count from the login on.
 *
 * A statement that takes too long is cancelled on the server, and fails once the server has let go of the
 * connection. Until then its place in the pool is taken: the server has no more sessions of ours than the pool has places.
 */
export class CheckedClient extends Client {
  /** Why no answer to the statement in flight counts: it was cancelled, or its commit did not wait for the standby. TypeORM has one at a time. */
  warning: string | undefined;
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
   * Cancels the statement in flight by the protocol's own request, which needs no session and which poolers pass on.
   * What it wrote may be committed all the same. A server that cannot be reached is given up.
   */
  cancelStatement(): void {
    const { connection, processID, secretKey } = this as unknown as Backend;
    const { stream } = connection;
    const { remoteAddress: host, remotePort: port } = stream;
    this.warning = 'the store took too long';
    // A pooler may give no key to cancel by.
    if (!processID) {
      stream.destroy();
      return;
    }
    stream.setTimeout(MAX_HELD_MS, () => stream.destroy());
    const socket = host
      ? createConnection({ host, port: Number(port) })
      : createConnection(`${this.host}/.s.PGSQL.${this.port}`);
    socket.on('error', () => stream.destroy());
    socket.setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy(new Error('no answer')));
    const request = Buffer.alloc(16);
    for (const [i, value] of [16, CANCEL_REQUEST, processID, secretKey].entries()) {
      request.writeInt32BE(value, 4 * i);
    }
    socket.resume().write(request);
  }

  /** Closes the connection, and resolves once the server has let go of it. */
  async close(): Promise<void> {
    const { stream } = (this as unknown as Backend).connection;
    stream.setTimeout(MAX_HELD_MS, () => stream.destroy());
    await this.end();
  }
}

const { query, connect } = Client.prototype as unknown as Record<'query' | 'connect', Query>;

// Assigned, since the methods have a dozen overloads. Where there is no connection, the store is
// unavailable, whatever the reason. The pool calls it with a callback.
CheckedClient.prototype.connect = function (this: CheckedClient, connected: Connected) {
  return connect.call(this, (error?: Error) => connected(error && toStoreUnavailable(error)));
} as Client['connect'];

CheckedClient.prototype.query = function (this: CheckedClient, ...args: unknown[]) {
  const result = query.apply(this, args);
  return result instanceof Promise ? checked(this, result as Promise<QueryResult>) : result;
} as Client['query'];

/**
 * A commit that no longer waits for the synchronous standby ends as if all were well, but for a
 * warning (postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA). One that does not
 * wait for stable storage either, since the server was reconfigured, is told by its rows' last column.
 *
 * @throws StoreUnavailable where the commit could be lost, or the connection failed; DatabaseError where the server
 *   says so, which toStoreError() tells apart
 */
async function checked(client: CheckedClient, result: Promise<QueryResult>): Promise<QueryResult> {
  const { statementTimeoutMs: timeoutMs } = client;
  const timer =
    timeoutMs === undefined ? undefined : setTimeout(() => client.cancelStatement(), timeoutMs);
  try {
    const answer = await result.finally(() => clearTimeout(timer));
    const reason = client.warning ?? weaknessOf(answer);
    if (reason !== undefined) throw new StoreUnavailable(reason);
    return answer;
  } catch (error) {
    await client.close();
    if (client.warning !== undefined) throw new StoreUnavailable(client.warning);
    throw error instanceof DatabaseError ? error : toStoreUnavailable(error);
  }
}

/** Of several statements at once, as a migration may send them, the driver gives an array of results. */
function weaknessOf({ fields, rows }: Partial<QueryResult>): string | undefined {
  if (fields?.at(-1)?.name !== LEVEL_COLUMN) return undefined;
  let last: unknown;
  for (const row of rows as Record<string, unknown>[]) {
    const level = row[LEVEL_COLUMN];
    if (level === last) continue;
    const weakness = weaknessOfLevel(String(level));
    if (weakness !== undefined) return weakness;
    last = level;
  }
  return undefined;
}

/**
 * Why what is committed at a {@link COMMIT_LEVEL} could be lost; undefined where it could not
 * (postgresql.org/docs/current/runtime-config-wal.html).
 */
export function weaknessOfLevel(level: string): string | undefined {
  const values = level.split(' ');
  for (const [i, [name, isSafe, safe]] of SETTINGS.entries()) {
    const value = values[i] ?? '';
    if (isSafe.test(value)) continue;
    return `${name} is ${value}, so that a plant could be lost: set it to ${safe}`;
  }
  return undefined;
}
