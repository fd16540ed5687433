import { setImmediate } from 'node:timers/promises';
import { Inject, Injectable, Optional, type OnApplicationShutdown } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { Config } from '../config/config.js';
import { STORE_WRITER, type StoreWriter } from '../database/engine.js';
import { lookPatience } from '../database/patience.js';
import { isStoreAway, StoreAwayError } from '../database/store-away.js';
import { StoreState } from '../database/store-state.js';
import { ERRORS } from '../errors/errors.js';
import { Fault } from '../errors/fault.js';
import { Metrics } from '../metrics/metrics.js';
import { TRACING, type RequestSpan, type Tracing } from '../tracing/tracing.js';
import type { NewPlantDto } from './new-plant.dto.js';
import type { Plant, PlantContent } from './plant.entity.js';
import { PlantQueue, type QueuedPlant } from './plant-queue.js';

/**
 * Writes plants in groups: those that arrive while a commit runs share the next one, so stable
 * storage is waited for once a group, not once a plant (see docs/performance.md).
 */
@Injectable()
export class PlantWriter implements OnApplicationShutdown {
  private readonly queue: PlantQueue;
  /**
   * Committers at work, and whether the newest still gathers its first group. Not the size of
   * `running`, which learns of an end one turn too late: a plant would wait that came in between.
   */
  private committers = 0;
  private gathering = false;
  private readonly running = new Set<Promise<void>>();

  constructor(
    @Inject(STORE_WRITER) private readonly store: StoreWriter,
    private readonly state: StoreState,
    @Inject(TRACING) private readonly tracing: Tracing | undefined,
    config: Config,
    @Optional() private readonly metrics?: Metrics,
  ) {
    this.queue = new PlantQueue(lookPatience(config));
  }

  /** How many plants wait for their commit. */
  get queued(): number {
    return this.queue.size;
  }

  /** Whether more plants wait than may. */
  get isFull(): boolean {
    return this.queue.isFull;
  }

  /**
   * Resolves once the plant is on stable storage, now or from before.
   *
   * @throws Fault ID_TAKEN, OVERLOADED; the store's own error where it is not stored, or may not be
   */
  write(
    { id, name, tag }: NewPlantDto,
    { id: createdBy }: Principal,
    span?: RequestSpan,
  ): Promise<void> {
    const plant = { id: id.toString(), name, tag: tag ?? null, createdBy, createdAt: null };
    const stored = this.queue.add(plant, span);
    this.startCommitter();
    return stored;
  }

  /** The HTTP server has closed by now, but a client that left may have left a plant behind. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.running);
  }

  private startCommitter(): void {
    if (this.gathering || this.committers >= this.store.concurrency) return;
    const committer = this.commitGroups();
    this.running.add(committer);
    void committer.then(() => this.running.delete(committer));
  }

  /** Commits one group after the other, until nothing waits any more. */
  private async commitGroups(): Promise<void> {
    this.committers += 1;
    // Not at once: every request that this turn of the event loop brings in joins the group.
    this.gathering = true;
    await setImmediate();
    this.gathering = false;
    while (!this.queue.isEmpty) await this.commit(this.queue.takeGroup());
    this.committers -= 1;
  }

  /** Commits a group; where that fails, its halves, so that a bad plant fails alone. */
  private async commit(group: QueuedPlant[]): Promise<void> {
    try {
      const started = performance.now();
      const owners = await this.insertGroup(group);
      this.metrics?.onCommit(group.length, performance.now() - started);
      this.state.noteThere();
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
