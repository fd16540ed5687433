import { Client, DatabaseError, type ClientConfig, type QueryResult } from 'pg';
import { StoreUnavailable } from '../errors/errors.js';
import { toStoreUnavailable } from './store-errors.js';

/**
 * Name of the last column of a statement that writes, by which each of its rows tells the level that it is
 * committed at. On Citus each row may come from another server.
 */
const LEVEL_COLUMN = 'synchronous_commit';

/** What stands in that column. */
export const COMMIT_LEVEL = "current_setting('synchronous_commit')";

/** The same, and keeps a reload of the server from changing the level between the statement and its commit. */
export const KEPT_COMMIT_LEVEL = `set_config('synchronous_commit', ${COMMIT_LEVEL}, true)`;

type Notice = { readonly [Field in 'routine' | 'message']: string | undefined };
type Connected = (error?: Error) => void;
type Query = (this: Client, ...args: unknown[]) => unknown;

/** Citus passes the words on, but not which routine they are of. */
const SYNC = /synchronous replication/;

/**
 * A connection that fails where a commit could be lost, and that no one is lent once a statement on it failed: it
 * may be the connection, a server that is no primary now, or the role's settings, which count from the login on.
 * The driver would leave it open and the pool would lend it again, to wait behind a statement that hangs.
 */
export class CheckedClient extends Client {
  /** The server's warning that the commit of the statement in flight did not wait for the standby; TypeORM has one at a time. */
  warning: string | undefined;

  constructor(config?: ClientConfig) {
    super(config);
    // A server that ends may say so between two statements, and no one else may be listening; the
    // next statement fails, and the pool lends the connection no more.
    this.on('error', () => undefined);
    this.on('notice', ({ routine, message = '' }: Notice) => {
      if (routine === 'SyncRepWaitForLSN' || SYNC.test(message)) this.warning = message;
    });
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
  try {
    const answer = await result;
    const reason = client.warning ?? weaknessOf(answer);
    client.warning = undefined;
    if (reason !== undefined) throw new StoreUnavailable(reason);
    return answer;
  } catch (error) {
    void client.end();
    throw error instanceof DatabaseError ? error : toStoreUnavailable(error);
  }
}

/** Of several statements at once, as a migration may send them, the driver gives an array of results. */
function weaknessOf({ fields, rows }: Partial<QueryResult>): string | undefined {
  if (fields?.at(-1)?.name !== LEVEL_COLUMN) return undefined;
  for (const row of rows as Record<string, unknown>[]) {
    const weakness = weaknessOfLevel(row[LEVEL_COLUMN]);
    if (weakness !== undefined) return weakness;
  }
  return undefined;
}

/**
 * Why what is committed at a level of `synchronous_commit` could be lost; undefined where it could not
 * (postgresql.org/docs/current/runtime-config-wal.html).
 */
export function weaknessOfLevel(level: unknown): string | undefined {
  if (level === 'on' || level === 'remote_apply') return undefined;
  return `synchronous_commit is ${String(level)}, so that a plant could be lost: set it to on or remote_apply`;
}
