import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { Config } from '../config/config.js';
import { lookPatience } from '../database/patience.js';
import type { RequestSpan } from '../tracing/tracing.js';
import { GroupCommitter } from './group-committer.js';
import type { NewPlantDto } from './new-plant.dto.js';
import { GROUP_BOUND, PlantQueue } from './plant-queue.js';

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
  private endGathering: () => void = () => undefined;
  /** Plants in the groups that they commit. */
  private underWay = 0;
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly committer: GroupCommitter,
    config: Config,
  ) {
    this.queue = new PlantQueue(lookPatience(config));
  }

  /** How many plants wait for their commit. */
  get queued(): number {
    return this.queue.size;
  }

  /** How many plants wait for a commit, or are in one. */
  get unsettled(): number {
    return this.queue.size + this.underWay;
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
    if (this.queue.size >= GROUP_BOUND) this.endGathering();
    return stored;
  }

  /** The HTTP server has closed by now, but a client that left may have left a plant behind. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.running);
  }

  private startCommitter(): void {
    if (this.gathering || this.committers >= this.committer.concurrency) return;
    const committer = this.commitGroups();
    this.running.add(committer);
    void committer.then(() => this.running.delete(committer));
  }

  /**
   * Not at once: every request that this turn of the event loop brings in joins the group. But a turn
   * lasts as long as requests come in, and while it does an overloaded service would commit nothing.
   */
  private async gather(): Promise<void> {
    this.gathering = true;
    await new Promise<void>((resolve) => {
      this.endGathering = resolve;
      setImmediate(resolve);
    });
    this.gathering = false;
  }

  /** Commits one group after the other, until nothing waits any more. */
  private async commitGroups(): Promise<void> {
    this.committers += 1;
    await this.gather();
    while (!this.queue.isEmpty) {
      const group = this.queue.takeGroup();
      this.underWay += group.length;
      await this.committer.commit(group);
      this.underWay -= group.length;
    }
    this.committers -= 1;
  }
}
