import { Injectable } from '@nestjs/common';
import { DataSource, Repository } from 'typeorm';
import type { DatabaseSystem } from '../config/database-url.js';
import { Writer } from '../database/engine.js';
import { KeptOutException } from '../database/store-errors.js';
import { COLUMNS, Plant } from './plant.entity.js';

const names = COLUMNS.map(({ name }) => name).join(', ');

/** Columns with their value in a row, which is an array in JSON. */
const CELLS = COLUMNS.map((column, i) => {
  return { ...column, sent: `CAST(value->>${i} AS ${column.type})` };
});

const values = CELLS.map(({ name, sent }) => `${sent} AS ${name}`).join(', ');

const hasSameId = 'plants.id = CAST(value->>0 AS bigint)';

/** Whether a stored plant has the content of a row, byte by byte. @param collation of texts, whatever that of the column */
const isSame = (collation: string) =>
  CELLS.filter(({ isAudit }) => !isAudit)
    .map(({ name, type, sent }) => {
      const collate = type === 'text' ? ` COLLATE ${collation}` : '';
      return `plants.${name} IS NOT DISTINCT FROM ${sent}${collate}`;
    })
    .join(' AND ');

/** An engine's SQL for `plants`: one statement each, for the rows of a JSON text. */
interface Statements {
  /** Inserts the rows whose id is free. Its rows' counts add up to how many. */
  readonly insert: string;
  /** Returns the place in the JSON text of each row whose id is stored durably, and whether it has the same content. */
  readonly compare: string;
}

const STATEMENTS: Readonly<
  Record<DatabaseSystem, (writer: Pick<Writer, 'commitLevel'>) => Statements>
> = {
  sqlite: () => ({
    insert: `
      INSERT INTO plants (${names}) SELECT ${values} FROM jsonb_each(?) WHERE true
      ON CONFLICT (id) DO NOTHING`,
    compare: `
      SELECT sent.key AS place, ${isSame('BINARY')} AS same FROM jsonb_each(?) AS sent JOIN plants ON ${hasSameId}`,
  }),

  // Sorted by id, so that concurrent inserts cannot deadlock. The level of the commit is set once, not for each row: by
  // set_level, and on workers of Citus by RETURNING, which runs there. A comparison writes to the log, so that its commit
  // waits for the standby: a row that has not reached it must not pass for stored.
  postgresql: ({ commitLevel }) => ({
    insert: `
      INSERT INTO plants (${names}) SELECT ${values}
      FROM jsonb_array_elements($1::jsonb), (SELECT ${commitLevel}) AS set_level ORDER BY id
      ON CONFLICT (id) DO NOTHING RETURNING 1 AS count, (SELECT ${commitLevel}) AS level`,
    compare: `
      SELECT (sent.key - 1)::integer AS place, ${isSame('"C"')} AS same,
        pg_logical_emit_message(true, 'plant-store', ''), (SELECT ${commitLevel}) AS level
      FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS sent (value, key) JOIN plants ON ${hasSameId}`,
  }),
};

/** Why a plant that was sent is neither new nor stored. */
const KEPT_OUT =
  'plants were not inserted, and their ids are not found: a trigger, rule or policy of the table plants keeps them out ' +
  '(psql lists those by `\\d plants`, sqlite3 by `.schema plants`), or another server took over that lacks them';

/** A plant's values in the order of {@link COLUMNS}. JSON has no bigint: the SQL casts its text. */
function toRow(plant: Plant): unknown[] {
  return COLUMNS.map(({ field }) => {
    const value = plant[field];
    return typeof value === 'bigint' ? value.toString() : value;
  });
}

/** The stored plants. TypeORM's own insert would build a statement for each group. */
@Injectable()
export class PlantsRepository extends Repository<Plant> {
  private readonly statements: Statements;

  constructor(
    { manager }: DataSource,
    private readonly writer: Writer,
  ) {
    super(Plant, manager);
    this.statements = STATEMENTS[writer.system](writer);
  }

  /**
   * Inserts the plants whose id is free, in one commit. Resolves, once durable, to how many were new, and which ones have
   * an id that is taken. @throws the store's error; if it is unavailable, it is unknown what was inserted
   */
  async insertOrCompare(plants: readonly Plant[]) {
    const createdAt = BigInt(Date.now());
    for (const plant of plants) plant.createdAt = createdAt;
    const rows = JSON.stringify(plants.map(toRow));
    const inserted = await this.insertRows(rows);
    if (inserted === plants.length) return { inserted, conflicts: new Set<Plant>() };
    const { compare } = this.statements;
    const found = await this.writer.query<{ place: number; same: unknown }>(compare, [rows]);
    const stored = new Set(found.map(({ place }) => plants[place]));
    // The service deletes no plants.
    if (plants.some((plant) => !stored.has(plant))) throw new KeptOutException(KEPT_OUT);
    return {
      inserted,
      conflicts: new Set(found.filter(({ same }) => !same).map(({ place }) => plants[place])),
    };
  }

  /** Inserts rows, a JSON array of arrays in the order of {@link COLUMNS}. Resolves to how many were new. */
  async insertRows(rows: string): Promise<number> {
    const { insert } = this.statements;
    const inserted = await this.writer.query<{ count: number }>(insert, [rows]);
    return inserted.reduce((sum, { count }) => sum + count, 0);
  }
}
