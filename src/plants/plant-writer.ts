import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { ENGINE, type Engine, type Statement } from '../database/engine.js';
import { isStoreAway } from '../database/store-away.js';
import { ERRORS } from '../errors/errors.js';
import { Fault } from '../errors/fault.js';
import type { NewPlantDto } from './new-plant.dto.js';
import { Plant } from './plant.entity.js';

/** A plant that waits for its commit, and the promise that hangs on it. */
interface Waiting {
  readonly plant: Plant;
  readonly stored: () => void;
  readonly failed: (fault: unknown) => void;
}

/** Plants that may wait at once; past it the service is overloaded. Some 0.2 s of work. */
export const QUEUE_BOUND = 2048;
/** Plants in one commit at the most: past some hundred, more a commit gains nothing. */
const GROUP_BOUND = 512;

/**
 * Writes plants in groups: those that arrive while a commit runs share the next one, so stable
 * storage is waited for once a group, not once a plant (see docs/performance.md).
 */
@Injectable()
export class PlantWriter {
  private waiting: Waiting[] = [];
  private running = false;

  constructor(
    @InjectRepository(Plant) private readonly plants: Repository<Plant>,
    @Inject(ENGINE) private readonly engine: Engine,
  ) {}

  /** Resolves once the plant is on stable storage; rejects where it is not, or may not be. */
  write({ id, name, tag }: NewPlantDto): Promise<void> {
    if (this.waiting.length >= QUEUE_BOUND) throw new Fault(ERRORS.OVERLOADED);
    return new Promise((stored, failed) => {
      const plant = { id: id.toString(), name, tag: tag ?? null };
      this.waiting.push({ plant, stored, failed });
      if (this.running) return;
      this.running = true;
      // Not at once: every request that this turn of the event loop brings in joins the group.
      setImmediate(() => void this.run());
    });
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) await this.commit(this.waiting.splice(0, GROUP_BOUND));
    this.running = false;
  }

  /** Commits a group; where that fails, its halves, so that a bad plant fails alone. */
  private async commit(group: Waiting[]): Promise<void> {
    try {
      const winners = await this.insert(group);
      for (const { plant, stored, failed } of group) {
        if (isSame(winners.get(plant.id), plant)) stored();
        else failed(new Fault(ERRORS.ID_TAKEN));
      }
    } catch (error) {
      if (group.length === 1 || isStoreAway(error)) {
        for (const { failed } of group) failed(error);
        return;
      }
      const half = Math.ceil(group.length / 2);
      await this.commit(group.slice(0, half));
      await this.commit(group.slice(half));
    }
  }

  /** Inserts those whose id is free. Answers which plant each id of the group now belongs to. */
  private async insert(group: Waiting[]): Promise<Map<string, Plant>> {
    const winners = new Map<string, Plant>();
    for (const { plant } of group) if (!winners.has(plant.id)) winners.set(plant.id, plant);
    const inserted = await this.query<Pick<Plant, 'id'>>(
      this.engine.insertPlants([...winners.values()]),
    );
    if (inserted.length === winners.size) return winners;
    const taken = new Set(winners.keys());
    for (const { id } of inserted) taken.delete(id);
    for (const plant of await this.query<Plant>(this.engine.findPlants([...taken]))) {
      winners.set(plant.id, plant);
      taken.delete(plant.id);
    }
    // Nothing of the service deletes plants, so an id that is neither inserted nor found is a fault.
    if (taken.size > 0) throw new Error('a plant was refused as a repeat but is not stored');
    return winners;
  }

  private query<Row>([sql, parameters]: Statement): Promise<Row[]> {
    return this.plants.query<Row[]>(sql, parameters);
  }
}

function isSame(a: Plant | undefined, b: Plant): boolean {
  return a === b || (a?.name === b.name && a.tag === b.tag);
}
