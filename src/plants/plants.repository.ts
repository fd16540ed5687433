import { Injectable } from '@nestjs/common';
import { DataSource, Repository } from 'typeorm';
import { Writer } from '../database/engine.js';
import { KeptOutException } from '../database/store-errors.js';
import { toTable } from '../database/tables.js';
import { AUDIT, Plant, type UncommittedPlant } from './plant.entity.js';

/** Why a plant that was sent is neither new nor stored. */
const KEPT_OUT =
  'plants were not inserted, and their ids are not found: a trigger or rule of the table plants keeps them out, which ' +
  'status names, or a policy, or another server took over that lacks them';

/** The stored plants. TypeORM's own insert would build a statement for each group. */
@Injectable()
export class PlantsRepository extends Repository<Plant> {
  private readonly fields: readonly (keyof Plant)[];
  private readonly insertFree: string;
  private readonly compare: string;

  constructor(
    { manager }: DataSource,
    private readonly writer: Writer,
  ) {
    super(Plant, manager);
    const table = toTable(this.metadata);
    this.fields = table.columns.map(({ field }) => field as keyof Plant);
    this.insertFree = writer.statements.insertFree(table);
    const content = table.columns.filter(({ field }) => !AUDIT.includes(field));
    this.compare = writer.statements.compare(table, content);
  }

  /**
   * Inserts the plants whose id is free, in one commit. Resolves, once durable, to how many were new, and which ones have
   * an id that is taken. @throws the store's error; if it is unavailable, it is unknown what was inserted
   */
  async insertOrCompare(plants: readonly UncommittedPlant[]) {
    const createdAt = BigInt(Date.now());
    const rows = JSON.stringify(plants.map((plant) => this.toRow({ ...plant, createdAt })));
    const counts = await this.writer.query<{ count: number }>(this.insertFree, [rows]);
    const inserted = counts.reduce((sum, { count }) => sum + count, 0);
    if (inserted === plants.length) return { inserted, conflicts: new Set<UncommittedPlant>() };
    const found = await this.writer.query<{ place: number; same: unknown }>(this.compare, [rows]);
    const stored = new Set(found.map(({ place }) => plants[place]));
    // The service deletes no plants.
    if (plants.some((plant) => !stored.has(plant))) throw new KeptOutException(KEPT_OUT);
    const taken = found.filter(({ same }) => !same);
    return { inserted, conflicts: new Set(taken.map(({ place }) => plants[place])) };
  }

  /** A plant's values in the order of the columns. JSON has no bigint: the SQL casts its text. */
  private toRow(plant: Plant): unknown[] {
    return this.fields.map((field) => {
      const value = plant[field];
      return typeof value === 'bigint' ? value.toString() : value;
    });
  }
}
