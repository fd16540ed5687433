import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { Config } from '../config/config.js';
import { lookupTimeoutMs } from '../database/engine.js';
import { StoreHealth } from '../database/store-health.js';
import { StoreUnavailable } from '../errors/errors.js';
import { plantQueued } from './channels.js';
import { GroupCommitter } from './group-committer.js';
import type { NewPlantDto, PlantDto } from './plant.dto.js';
import { MAX_GROUP_SIZE, PlantQueue } from './plant-queue.js';

/**
 * Stores plants in groups: those that arrive while a commit runs share the next one, so stable
 * storage is waited for once a group, not once a plant (see docs/performance.md).
 */
@Injectable()
export class PlantsService implements OnApplicationShutdown {
  private readonly queue: PlantQueue;
  /**
   * Committers at work, and whether the newest still gathers its first group. Not the size of
   * `running`, which learns of an end one turn too late: a plant would wait that came in between.
   */
  private committers = 0;
  private gathering = false;
  private endGathering: () => void = () => undefined;
  /** Plants in the groups that they commit. */
  private inFlight = 0;
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly committer: GroupCommitter,
    health: StoreHealth,
    private readonly config: Config,
  ) {
    this.queue = new PlantQueue(lookupTimeoutMs(config), () =>
      health.failed(new StoreUnavailable('the store took too long')),
    );
  }

  /** How many plants wait for their commit. */
  get queued(): number {
    return this.queue.size;
  }

  /** How many plants wait for a commit, or are in one. */
  get unsettled(): number {
    return this.queue.size + this.inFlight;
  }

  /** Whether more plants wait than may. */
  get isFull(): boolean {
    return this.queue.isFull;
  }

  /**
   * Stores a plant and returns it as it is answered. The promise is kept when the plant is on stable storage:
   * written now, or earlier with the same content.
   *
   * @throws Fault ID_TAKEN, OVERLOADED; StoreUnavailable where it may not be stored; the store's error
   */
  async create({ id, name, tag }: NewPlantDto, principal: Principal): Promise<PlantDto> {
    const createdBy = principal.id;
    const plant = { id: id.toString(), name, tag: tag ?? null, createdBy, createdAt: null };
    const stored = this.queue.add(plant);
    if (plantQueued.hasSubscribers) plantQueued.publish({ config: this.config, plant });
    this.startCommitter();
    if (this.queue.size >= MAX_GROUP_SIZE) this.endGathering();
    await stored;
    return { name, tag };
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
      this.inFlight += group.length;
      await this.committer.commit(group);
      this.inFlight -= group.length;
    }
    this.committers -= 1;
  }
}
