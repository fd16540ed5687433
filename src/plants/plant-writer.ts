import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { ENGINE, type Engine, type Inserter } from '../database/engine.js';
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
export class PlantWriter implements OnApplicationShutdown {
  private readonly inserter: Inserter;
  private waiting: Waiting[] = [];
  private running = false;

  constructor(
    @InjectRepository(Plant) private readonly plants: Repository<Plant>,
    @Inject(ENGINE) private readonly engine: Engine,
  ) {
    this.inserter = engine.openInserter(plants);
  }

  /**
   * Resolves once the plant is on stable storage, now or from before.
   *
   * @throws Fault ID_TAKEN, OVERLOADED; the store's own error where it is not stored, or may not be
   */
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

  /** By now the HTTP server has closed, so every plant has its answer. */
  onApplicationShutdown(): Promise<void> {
    return this.inserter.close();
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) await this.commit(this.waiting.splice(0, GROUP_BOUND));
    this.running = false;
  }

  /** Commits a group; where that fails, its halves, so that a bad plant fails alone. */
  private async commit(group: Waiting[]): Promise<void> {
    try {
      const owners = await this.insert(group.map(({ plant }) => plant));
      for (const { plant, stored, failed } of group) {
        if (isSame(owners.get(plant.id), plant)) stored();
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

  /** Inserts the plants whose id is free, and answers which plant each id now belongs to. */
  private async insert(plants: Plant[]): Promise<Map<string, Plant>> {
    const owners = new Map<string, Plant>();
    for (const plant of plants) if (!owners.has(plant.id)) owners.set(plant.id, plant);
    const inserted = await this.inserter.insert([...owners.values()]);
    if (inserted.length === owners.size) return owners;
    const taken = new Set(owners.keys());
    for (const id of inserted) taken.delete(id);
    const stored = await this.plants.query<Plant[]>(...this.engine.findPlants([...taken]));
    // Nothing of the service deletes plants, so an id that was not free has its plant.
    if (stored.length < taken.size) throw new Error('a taken id has no plant');
    for (const plant of stored) owners.set(plant.id, plant);
    return owners;
  }
}

function isSame(a: Plant | undefined, b: Plant): boolean {
  return a === b || (a?.name === b.name && a.tag === b.tag);
}
