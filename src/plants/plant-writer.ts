import { setImmediate } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { ENGINE, STORE_WRITER, type Engine, type StoreWriter } from '../database/engine.js';
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

/** Plants that may wait at once, and their characters; past either the service is overloaded. */
export const QUEUE_BOUND = 2048;
const LENGTH_BOUND = 2 ** 24;
/** Plants in one commit at the most. */
const GROUP_BOUND = 512;

/**
 * Writes plants in groups: those that arrive while a commit runs share the next one, so stable
 * storage is waited for once a group, not once a plant (see docs/performance.md).
 */
@Injectable()
export class PlantWriter implements OnApplicationShutdown {
  private waiting: Waiting[] = [];
  /** Characters of the plants that wait. */
  private length = 0;
  /** Settled once nothing waits any more. */
  private running: Promise<void> | undefined;

  constructor(
    @InjectRepository(Plant) private readonly plants: Repository<Plant>,
    @Inject(ENGINE) private readonly engine: Engine,
    @Inject(STORE_WRITER) private readonly store: StoreWriter,
  ) {}

  /**
   * Resolves once the plant is on stable storage, now or from before.
   *
   * @throws Fault ID_TAKEN, OVERLOADED; the store's own error where it is not stored, or may not be
   */
  write({ id, name, tag }: NewPlantDto): Promise<void> {
    if (this.waiting.length >= QUEUE_BOUND || this.length >= LENGTH_BOUND) {
      throw new Fault(ERRORS.OVERLOADED);
    }
    return new Promise((stored, failed) => {
      const plant = { id: id.toString(), name, tag: tag ?? null };
      this.waiting.push({ plant, stored, failed });
      this.length += lengthOf(plant);
      this.running ??= this.run();
    });
  }

  /** The HTTP server has closed by now, but a client that left may have left a plant behind. */
  async onApplicationShutdown(): Promise<void> {
    await this.running;
  }

  private async run(): Promise<void> {
    // Not at once: every request that this turn of the event loop brings in joins the group.
    await setImmediate();
    while (this.waiting.length > 0) {
      const group = this.waiting.splice(0, GROUP_BOUND);
      for (const { plant } of group) this.length -= lengthOf(plant);
      await this.commit(group);
    }
    this.running = undefined;
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
    const inserted = await this.store.insertPlants([...owners.values()]);
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

function lengthOf({ name, tag }: Plant): number {
  return name.length + (tag?.length ?? 0);
}
