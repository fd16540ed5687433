import { Injectable } from '@nestjs/common';
import { Repository } from 'typeorm';
import { WritePath } from '../database/engine.js';
import { getEngine } from '../database/open-store.js';
import { StoreUnavailable } from '../errors/errors.js';
import { FIELDS, Plant, type PlantContent } from './plant.entity.js';
import { STATEMENTS, type Row, type Statements } from './statements.js';

/**
 * The stored plants. TypeORM's own insert would build a statement for each group, and its own finds read ids of SQLite
 * as doubles.
 */
@Injectable()
export class PlantsRepository extends Repository<Plant> {
  private readonly statements: Statements;

  constructor({ manager }: WritePath) {
    super(Plant, manager, manager.queryRunner);
    this.statements = STATEMENTS[getEngine(manager).system];
  }

  /**
   * Inserts the plants whose id is free, in one statement and one commit, and returns the ids of these plants once they
   * are durable. No two plants of a group have the same id.
   *
   * @throws the store's error; if toStoreError() finds it StoreUnavailable, it is not known what was inserted
   */
  insertAbsent(plants: readonly Plant[]): Promise<string[]> {
    return this.insertRows(plants.map((plant) => FIELDS.map((field) => plant[field])));
  }

  /** {@link insertAbsent} of rows, whose values are in the order of {@link FIELDS}. */
  async insertRows(rows: readonly Row[]): Promise<string[]> {
    const { insert, toInsertParameters } = this.statements;
    const inserted = await this.query<Pick<Plant, 'id'>[]>(insert, toInsertParameters(rows));
    return inserted.map(({ id }) => id);
  }

  /**
   * Returns what is stored under ids that are taken, each plant durable.
   *
   * @throws StoreUnavailable if an id is not taken; the store's error
   */
  async findContents(ids: readonly string[]): Promise<PlantContent[]> {
    const { find, toFindParameters } = this.statements;
    const found = await this.query<PlantContent[]>(find, toFindParameters(ids));
    if (found.length === ids.length) return found;
    // The service deletes no plants: another server answers, which does not have them yet.
    throw new StoreUnavailable('conflicting id not found by lookup');
  }

  /**
   * Resolves if a plant would be stored now: does all that an insert does, with no plant.
   *
   * @throws the store's error
   */
  async probe(): Promise<void> {
    await this.query(this.statements.probe);
  }
}
