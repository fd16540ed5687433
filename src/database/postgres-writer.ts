import { DatabaseError, type Pool, type PoolClient } from 'pg';
import type { Plant } from '../plants/plant.entity.js';
import { describeError } from './describe-error.js';
import type { StoreWriter } from './engine.js';
import { isAwayCode, StoreAwayError } from './store-away.js';

/**
 * One text for any number of plants, in arrays. In the order of the ids, so that two groups wait for
 * each other one way round only.
 */
const INSERT = `
  INSERT INTO plants (id, name, tag)
  SELECT id, name, tag
  FROM unnest($1::bigint[], $2::text[], $3::text[]) AS plant (id, name, tag)
  ORDER BY id
  ON CONFLICT (id) DO NOTHING RETURNING id`;

/**
 * With a message to the log for each row, the look is a transaction that commits: it waits for stable
 * storage, and for the synchronous standby where there is one, as the commit of the plant itself did.
 * Otherwise a plant whose own commit broke off before it was on the standby would pass for stored.
 */
const FIND = `
  SELECT id, name, tag, pg_logical_emit_message(true, 'plant-store', '')
  FROM plants WHERE id = ANY($1::bigint[])`;

/** The rows are locked in order first: services that note one token's use at once take turns. */
const NOTE_USES = `
  WITH uses AS (SELECT id, time FROM unnest($1::integer[], $2::bigint[]) AS used (id, time)),
  locked AS (SELECT id FROM tokens WHERE id = ANY($1::integer[]) ORDER BY id FOR UPDATE)
  UPDATE tokens SET last_used_at = GREATEST(last_used_at, uses.time)
  FROM uses JOIN locked USING (id) WHERE tokens.id = uses.id`;

/** Writes over the pool, without session state or named statements, so that a pooler may stand between. */
export class PostgresWriter implements StoreWriter {
  readonly concurrency = 4;

  constructor(private readonly pool: Pool) {}

  async insertPlants(plants: readonly Plant[]): Promise<string[]> {
    const rows = await this.run<[id: string]>(INSERT, [
      plants.map(({ id }) => id),
      plants.map(({ name }) => name),
      plants.map(({ tag }) => tag),
    ]);
    return rows.map(([id]) => id);
  }

  async findPlants(ids: readonly string[]): Promise<Plant[]> {
    const rows = await this.run<[id: string, name: string, tag: string | null]>(FIND, [ids]);
    return rows.map(([id, name, tag]) => ({ id, name, tag }));
  }

  async noteUses(uses: readonly (readonly [number, number])[]): Promise<void> {
    await this.run(NOTE_USES, [uses.map(([id]) => id), uses.map(([, time]) => time)]);
  }

  /** The pool is TypeORM's, which ends it. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Runs a statement, which is its own transaction, and returns its rows. */
  private async run<Row extends unknown[]>(text: string, values: unknown[]): Promise<Row[]> {
    let client: PoolClient | undefined;
    try {
      client = await this.pool.connect();
      const rows = await runOn<Row>(client, text, values);
      client.release();
      return rows;
    } catch (error) {
      // Not back to the pool: it may be the connection that fails, or a server that is no primary now.
      client?.release(true);
      throw isStatementAtFault(error) ? error : away(error);
    }
  }
}

/**
 * A commit that no longer waits for the synchronous standby ends as if all were well, but for a
 * warning (postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION-HA).
 */
async function runOn<Row extends unknown[]>(client: PoolClient, text: string, values: unknown[]) {
  let warning: string | undefined;
  const note = ({ message }: { message: string | undefined }) => (warning = message);
  client.on('notice', note);
  try {
    const { rows } = await client.query<Row>({ text, values, rowMode: 'array' });
    if (warning !== undefined) throw new StoreAwayError(warning);
    return rows;
  } finally {
    client.off('notice', note);
  }
}

function isStatementAtFault(error: unknown): boolean {
  return error instanceof DatabaseError && !isAwayCode(error.code);
}

function away(error: unknown): StoreAwayError {
  if (error instanceof StoreAwayError) return error;
  return new StoreAwayError(describeError(error), { cause: error });
}
