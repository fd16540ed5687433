import { Repository } from 'typeorm';
import { COMMIT_LEVEL, KEPT_COMMIT_LEVEL } from '../database/postgres-client.js';
import { COMMIT_A_PAGE } from '../database/sqlite.js';
import type { WritePath } from '../database/engine.js';
import { StoreUnavailable } from '../errors/errors.js';
import { Plant, type PlantContent } from './plant.entity.js';

/** What a repository does, in an engine's SQL: each is one statement for any number of plants. */
interface Statements {
  readonly insert: string;
  readonly find: string;
  readonly probe: string;
  /** The parameters of `insert`. */
  readonly rows: (plants: readonly Plant[]) => unknown[];
  /** The parameters of `find`. */
  readonly ids: (ids: readonly string[]) => unknown[];
}

/**
 * Ids travel as text both ways, since a double cannot hold them, and a group as one JSON text of
 * `[id, name, tag, created_by, created_at]` rows.
 */
const SQLITE: Statements = {
  insert: `
    INSERT INTO plants (id, name, tag, created_by, created_at)
    SELECT CAST(value->>0 AS INTEGER), value->>1, value->>2, value->>3, CAST(value->>4 AS INTEGER)
    FROM json_each(?) WHERE true
    ON CONFLICT (id) DO NOTHING RETURNING CAST(id AS TEXT) AS id`,
  find: `
    SELECT CAST(id AS TEXT) AS id, name, tag FROM plants
    WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`,
  probe: COMMIT_A_PAGE,
  rows: (plants) => [
    JSON.stringify(
      plants.map(({ id, name, tag, createdBy, createdAt }) => [
        id,
        name,
        tag,
        createdBy,
        createdAt,
      ]),
    ),
  ],
  ids: (ids) => [JSON.stringify(ids)],
};

/**
 * In the order of the ids, so that two groups wait for each other one way round only. The commit's level is kept
 * once, in a query of its own, not for each row.
 *
 * With a message to the log for each row, a lookup of what is stored is a transaction that commits: it waits for
 * stable storage, and for the synchronous standby where there is one, as the commit of the plant itself did.
 * Otherwise a plant whose own commit was aborted before it was on the standby would pass for stored. The probe, an
 * insert of no plants, does the same; it needs the right to insert and a server that is not read-only. (The
 * message's place in the log is never null.)
 */
const POSTGRES: Statements = {
  insert: `
    INSERT INTO plants (id, name, tag, created_by, created_at)
    SELECT id, name, tag, created_by, created_at
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
      AS plant (id, name, tag, created_by, created_at)
    ORDER BY id
    ON CONFLICT (id) DO NOTHING RETURNING id, (SELECT ${KEPT_COMMIT_LEVEL}) AS synchronous_commit`,
  find: `
    SELECT id, name, tag, pg_logical_emit_message(true, 'plant-store', ''),
      ${KEPT_COMMIT_LEVEL} AS synchronous_commit
    FROM plants WHERE id = ANY($1::bigint[])`,
  probe: `
    WITH inserted AS (
      INSERT INTO plants (id, name)
      SELECT 0, '' FROM pg_logical_emit_message(true, 'plant-store', '') AS place WHERE place IS NULL
      RETURNING id
    )
    SELECT count, ${COMMIT_LEVEL} AS synchronous_commit FROM (SELECT count(*) FROM inserted) AS none`,
  rows: (plants) => [
    plants.map(({ id }) => id),
    plants.map(({ name }) => name),
    plants.map(({ tag }) => tag),
    plants.map(({ createdBy }) => createdBy),
    plants.map(({ createdAt }) => createdAt),
  ],
  ids: (ids) => [ids],
};

/**
 * The stored plants. TypeORM's own insert would build a statement for each group, and its own finds read ids
 * of SQLite as doubles.
 */
export class PlantsRepository extends Repository<Plant> {
  private readonly statements =
    this.manager.dataSource.options.type === 'postgres' ? POSTGRES : SQLITE;

  /** The one whose statements take a way to write. */
  static of({ manager }: WritePath): PlantsRepository {
    return new PlantsRepository(Plant, manager, manager.queryRunner);
  }

  /**
   * Inserts the plants whose id is free, in one statement and one commit, and returns the ids of those once they
   * are on stable storage. No two plants of a group have one id.
   *
   * @throws the store's error; where toStoreError() finds it StoreUnavailable, it is not known what was inserted
   */
  async insertAbsent(plants: readonly Plant[]): Promise<string[]> {
    const { insert, rows } = this.statements;
    const inserted = await this.query<Pick<Plant, 'id'>[]>(insert, rows(plants));
    return inserted.map(({ id }) => id);
  }

  /**
   * Returns what is stored under ids that are taken, each plant on stable storage.
   *
   * @throws the store's error
   */
  async findContents(ids: readonly string[]): Promise<PlantContent[]> {
    const { find, ids: parameters } = this.statements;
    const found = await this.query<PlantContent[]>(find, parameters(ids));
    if (found.length === ids.length) return found;
    // The service deletes no plants: another server answers, which does not have them yet.
    throw new StoreUnavailable('conflicting id not found by lookup');
  }

  /**
   * Resolves where a plant would be taken now: does all that an insert does, with no plant.
   *
   * @throws the store's error
   */
  async probe(): Promise<void> {
    await this.query(this.statements.probe);
  }
}
