import { Injectable } from '@nestjs/common';
import { DataSource, Repository } from 'typeorm';
import type { DatabaseSystem } from '../config/database-url.js';
import { Writer } from '../database/engine.js';
import { StoreUnavailableException } from '../errors/error-codes.js';
import { COLUMNS, Plant, type PlantContent } from './plant.entity.js';

/** A row's values as text, in the order of its table's columns. */
export type Row = readonly (string | null)[];

const names = COLUMNS.map(({ name }) => name).join(', ');

/** Selects a plant's content. */
const content = COLUMNS.filter(({ isAudit }) => !isAudit)
  .map(({ name, kind }) => `${kind.toText(name)} AS ${name}`)
  .join(', ');

/** Selects columns from a row, which is an array in JSON. */
const values = COLUMNS.map(
  ({ name, kind }, i) => `${kind.fromText(`value->>${i}`)} AS ${name}`,
).join(', ');

/** An engine's SQL for `plants`: one statement each, for any number of rows. */
interface Statements {
  /** Inserts those rows of a JSON text whose id is free, and returns how many: the sum of its rows' counts. */
  readonly insert: string;
  /** Returns the content of ids, on stable storage. */
  readonly find: string;
  readonly toFindParameter: (ids: readonly string[]) => unknown;
}

/** @param commitColumn of the {@link Writer} */
const STATEMENTS: Readonly<Record<DatabaseSystem, (commitColumn: string) => Statements>> = {
  sqlite: () => ({
    insert: `
      INSERT INTO plants (${names}) SELECT ${values} FROM jsonb_each(?) WHERE true
      ON CONFLICT (id) DO NOTHING`,
    find: `
      SELECT ${content} FROM plants
      WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`,
    toFindParameter: JSON.stringify,
  }),

  /**
   * Sorted by id, so that concurrent inserts cannot deadlock. `coordinator` sets the commit's level once, not for each row.
   * A lookup writes a message to the log, so its commit waits for the synchronous standby: a row whose commit was aborted
   * before it reached the standby must not pass for stored.
   */
  postgresql: (commitColumn) => ({
    insert: `
      INSERT INTO plants (${names}) SELECT ${values}
      FROM jsonb_array_elements($1::jsonb), (SELECT ${commitColumn}) AS coordinator ORDER BY id
      ON CONFLICT (id) DO NOTHING RETURNING 1 AS count, ${commitColumn}`,
    find: `
      SELECT ${content}, pg_logical_emit_message(true, 'plant-store', ''), ${commitColumn}
      FROM plants WHERE id = ANY($1::bigint[])`,
    toFindParameter: (ids) => ids,
  }),
};

/** The stored plants. TypeORM's own insert would build a statement for each group. */
@Injectable()
export class PlantsRepository extends Repository<Plant> {
  private readonly statements: Statements;

  constructor(
    { manager }: DataSource,
    private readonly writer: Writer,
  ) {
    super(Plant, manager);
    this.statements = STATEMENTS[writer.system](writer.commitColumn);
  }

  /**
   * Inserts the plants whose id is free, in one statement and one commit. Resolves, once durable, to how many were new and
   * what is stored under each id. @throws the store's error; if it is unavailable, it is unknown what was inserted
   */
  async insertOrFind(plants: readonly Plant[]) {
    const createdAt = String(Date.now());
    for (const plant of plants) plant.createdAt = createdAt;
    const rows = plants.map((plant) => COLUMNS.map(({ field }) => plant[field]));
    const inserted = await this.insertRows(rows);
    const contents = inserted === plants.length ? plants : await this.findContents(plants);
    return { inserted, contents };
  }

  /** Inserts rows of {@link COLUMNS}. Ids are not returned: V8 would keep their text in its table of strings. */
  async insertRows(rows: readonly Row[]): Promise<number> {
    const { insert } = this.statements;
    const inserted = await this.writer.query<{ count: number }>(insert, [JSON.stringify(rows)]);
    return inserted.reduce((sum, { count }) => sum + count, 0);
  }

  /** @throws StoreUnavailableException if the id of a plant is not taken; the store's error */
  private async findContents(plants: readonly Plant[]): Promise<(PlantContent | undefined)[]> {
    const { find, toFindParameter } = this.statements;
    const ids = new Set(plants.map(({ id }) => id));
    const found = await this.writer.query<PlantContent>(find, [toFindParameter([...ids])]);
    // The service deletes no plants: the lookup was on another server, which does not have them yet.
    if (found.length < ids.size)
      throw new StoreUnavailableException('conflicting id not found by lookup');
    const byId = new Map(found.map((plant) => [plant.id, plant]));
    return plants.map(({ id }) => byId.get(id));
  }
}
