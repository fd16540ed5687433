import { Injectable } from '@nestjs/common';
import { WritePath } from '../database/engine.js';
import { StoreHealth } from '../database/store-health.js';
import { ERRORS, Fault, StoreUnavailable } from '../errors/errors.js';
import { commits, type Commit } from './channels.js';
import type { Plant, PlantContent } from './plant.entity.js';
import type { QueuedPlant } from './plant-queue.js';
import { PlantsRepository } from './plants.repository.js';

/** Commits plants together, and tells each of them what came of it. */
@Injectable()
export class GroupCommitter {
  /** Groups that are worth being in flight at once. */
  readonly concurrency: number;

  constructor(
    private readonly plants: PlantsRepository,
    private readonly health: StoreHealth,
    { concurrency }: WritePath,
  ) {
    this.concurrency = concurrency;
  }

  /** Commits a group; where that fails, its halves, so that a bad plant fails alone. */
  async commit(group: QueuedPlant[]): Promise<void> {
    try {
      const existingById = await this.insert(group.map(({ plant }) => plant));
      this.health.markAvailable();
      for (const { plant, resolve, reject, timer } of group) {
        clearTimeout(timer);
        if (isSame(existingById.get(plant.id), plant)) resolve();
        else reject(new Fault(ERRORS.ID_TAKEN));
      }
    } catch (error) {
      await this.fail(group, this.health.failed(error));
    }
  }

  private async fail(group: QueuedPlant[], error: unknown): Promise<void> {
    if (group.length === 1 || error instanceof StoreUnavailable) {
      for (const { reject, timer } of group) {
        clearTimeout(timer);
        reject(error);
      }
      return;
    }
    const half = Math.ceil(group.length / 2);
    await this.commit(group.slice(0, half));
    await this.commit(group.slice(half));
  }

  private insert(plants: readonly Plant[]): Promise<Map<string, PlantContent>> {
    const commit = { plants, startedAt: performance.now(), inserted: 0 };
    return commits.tracePromise(() => this.insertAbsent(commit), commit);
  }

  /** Inserts the plants whose id is free, and answers which plant each id now belongs to. */
  private async insertAbsent(commit: Commit): Promise<Map<string, PlantContent>> {
    const existingById = new Map<string, PlantContent>();
    const first: Plant[] = [];
    const createdAt = String(Date.now());
    for (const plant of commit.plants) {
      if (existingById.has(plant.id)) continue;
      plant.createdAt = createdAt;
      existingById.set(plant.id, plant);
      first.push(plant);
    }
    const inserted = await this.plants.insertAbsent(first);
    commit.inserted = inserted.length;
    if (inserted.length === existingById.size) return existingById;
    const taken = new Set(existingById.keys());
    for (const id of inserted) taken.delete(id);
    const existing = await this.plants.findContents([...taken]);
    // Nothing of the service deletes plants: another server answers now, which has not got them yet.
    if (existing.length < taken.size) throw new StoreUnavailable('a taken id has no plant');
    for (const plant of existing) existingById.set(plant.id, plant);
    return existingById;
  }
}

function isSame(a: PlantContent | undefined, b: PlantContent): boolean {
  return a === b || (a?.name === b.name && a.tag === b.tag);
}
