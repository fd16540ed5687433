import { DatabaseError, type Pool, type PoolClient } from 'pg';
import type { Plant, PlantContent } from '../plants/plant.entity.js';
import type { StoreWriter } from './engine.js';
import { FIND, INSERT, NOTE_USES, PROBE, weaknessOf } from './postgres-statements.js';
import { isAwayCode, StoreAwayError, toStoreAway } from './store-away.js';

/** Writes over the pool, without session state or named statements, so that a pooler may stand between. */
export class PostgresWriter implements StoreWriter {
  /** See docs/performance.md: the slower a commit, the more there is in it. */
  readonly concurrency = 4;

  constructor(private readonly pool: Pool) {}

  async insertPlants(plants: readonly Plant[]): Promise<string[]> {
    const rows = await this.run<[id: string]>(INSERT, [
      plants.map(({ id }) => id),
      plants.map(({ name }) => name),
      plants.map(({ tag }) => tag),
      plants.map(({ createdBy }) => createdBy),
      plants.map(({ createdAt }) => createdAt),
    ]);
    return rows.map(([id]) => id);
  }

  async findPlants(ids: readonly string[]): Promise<PlantContent[]> {
    const rows = await this.run<[id: string, name: string, tag: string | null]>(FIND, [ids]);
    return rows.map(([id, name, tag]) => ({ id, name, tag }));
  }

  async noteUses(uses: readonly (readonly [number, number])[]): Promise<void> {
    await this.run(NOTE_USES, [uses.map(([id]) => id), uses.map(([, time]) => time)]);
  }

  async probe(): Promise<void> {
    await this.run(PROBE, []);
  }

  /** A process may exit while it waits for a server. */
  breakOff(): Promise<void> {
    return Promise.resolve();
  }

  /** The pool is TypeORM's, which ends it. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Runs a statement, which is its own transaction, and returns its rows. */
  private async run<Row extends unknown[]>(text: string, values: unknown[]): Promise<Row[]> {
    const client = await this.connect();
    try {
      const rows = await runOn<Row>(client, text, values);
      client.release();
      return rows;
    } catch (error) {
      // Not back to the pool: it may be the connection that fails, a server that is no primary now, or
      // the role's settings, which count from the login on.
      client.release(true);
      throw isStatementAtFault(error) ? error : toStoreAway(error);
    }
  }

  /** Where there is no connection, the store is away, whatever the reason. */
  private async connect(): Promise<PoolClient> {
    try {
      return await this.pool.connect();
    } catch (error) {
      throw toStoreAway(error);
    }
  }
}

type Notice = { readonly [Field in 'routine' | 'message']: string | undefined };

/** Citus passes the words on, but not which routine they are of. */
const SYNC = /synchronous replication/;

/**
 * A commit that no longer waits for the synchronous standby ends as if all were well, but for a
 * warning (postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA). One that does not
 * wait for stable storage either, since the server was configured anew, is told by its rows' last column.
 *
 * @throws StoreAwayError where the commit could be lost; the driver's error
 */
async function runOn<Row extends unknown[]>(client: PoolClient, text: string, values: unknown[]) {
  let warning: string | undefined;
  const note = ({ routine, message = '' }: Notice) => {
    if (routine === 'SyncRepWaitForLSN' || SYNC.test(message)) warning = message;
  };
  client.on('notice', note);
  try {
    const { rows } = await client.query<Row>({ text, values, rowMode: 'array' });
    // On Citus each row may come from another server.
    for (const row of rows) warning ??= weaknessOf(row.at(-1));
    if (warning !== undefined) throw new StoreAwayError(warning);
    return rows;
  } finally {
    client.off('notice', note);
  }
}

function isStatementAtFault(error: unknown): boolean {
  return error instanceof DatabaseError && !isAwayCode(error.code);
}
