import { Inject, Injectable, Optional } from '@nestjs/common';
import { STORE_WRITER, type StoreWriter } from '../database/engine.js';
import { isStoreAway, StoreAwayError } from '../database/store-away.js';
import { StoreState } from '../database/store-state.js';
import { ERRORS } from '../errors/errors.js';
import { Fault } from '../errors/fault.js';
import { Metrics } from '../metrics/metrics.js';
import { TRACING, type Tracing } from '../tracing/tracing.js';
import type { Plant, PlantContent } from './plant.entity.js';
import type { QueuedPlant } from './plant-queue.js';

/** Commits plants together, and tells each of them what came of it. */
@Injectable()
export class GroupCommitter {
  constructor(
    @Inject(STORE_WRITER) private readonly store: StoreWriter,
    private readonly state: StoreState,
    @Inject(TRACING) private readonly tracing: Tracing | undefined,
    @Optional() private readonly metrics?: Metrics,
  ) {}

  /** How many groups are worth being under way at once. */
  get concurrency(): number {
    return this.store.concurrency;
  }

  /** Commits a group; where that fails, its halves, so that a bad plant fails alone. */
  async commit(group: QueuedPlant[]): Promise<void> {
    try {
      const started = performance.now();
      const owners = await this.insertGroup(group);
      this.metrics?.onCommit(group.length, performance.now() - started);
      this.state.markAvailable();
      for (const { plant, stored, failed, timer } of group) {
        clearTimeout(timer);
        if (isSame(owners.get(plant.id), plant)) stored();
        else failed(new Fault(ERRORS.ID_TAKEN));
      }
    } catch (error) {
      this.metrics?.onCommitFailure();
      if (group.length === 1 || isStoreAway(error)) {
        for (const { failed, timer } of group) {
          clearTimeout(timer);
          failed(error);
        }
        return;
      }
      const half = Math.ceil(group.length / 2);
      await this.commit(group.slice(0, half));
      await this.commit(group.slice(half));
    }
  }

  private insertGroup(group: QueuedPlant[]): Promise<Map<string, PlantContent>> {
    const plants = group.map(({ plant }) => plant);
    if (!this.tracing) return this.insert(plants);
    const spans = group.map(({ span }) => span);
    return this.tracing.commit(spans, () => this.insert(plants));
  }

  /** Inserts the plants whose id is free, and answers which plant each id now belongs to. */
  private async insert(plants: Plant[]): Promise<Map<string, PlantContent>> {
    const owners = new Map<string, PlantContent>();
    const first: Plant[] = [];
    const createdAt = String(Date.now());
    for (const plant of plants) {
      if (owners.has(plant.id)) continue;
      plant.createdAt = createdAt;
      owners.set(plant.id, plant);
      first.push(plant);
    }
    const inserted = await this.store.insertPlants(first);
    this.metrics?.onStored(inserted.length);
    if (inserted.length === owners.size) return owners;
    const taken = new Set(owners.keys());
    for (const id of inserted) taken.delete(id);
    const stored = await this.store.findPlants([...taken]);
    // Nothing of the service deletes plants: another server answers now, which has not got them yet.
    if (stored.length < taken.size) throw new StoreAwayError('a taken id has no plant');
    for (const plant of stored) owners.set(plant.id, plant);
    return owners;
  }
}

function isSame(a: PlantContent | undefined, b: PlantContent): boolean {
  return a === b || (a?.name === b.name && a.tag === b.tag);
}
