import { StoreAwayError } from '../database/store-away.js';
import { ERRORS } from '../errors/errors.js';
import { Fault } from '../errors/fault.js';
import type { RequestSpan } from '../tracing/tracing.js';
import type { Plant } from './plant.entity.js';

/** Plants that may wait at once, and their characters; past either the service is overloaded. */
export const QUEUE_BOUND = 2048;
const LENGTH_BOUND = 2 ** 24;
/** Plants in one commit at the most. */
export const GROUP_BOUND = 512;

/** A plant that waits for its commit, and whoever waits for it, each of whom is told one outcome. */
export interface QueuedPlant {
  readonly plant: Plant;
  readonly stored: () => void;
  readonly failed: (fault: unknown) => void;
  /** Gives the plant up in the end. */
  readonly timer: NodeJS.Timeout;
  /** The span of the request that brought it, where there are traces. */
  readonly span: RequestSpan | undefined;
}

/** The plants that wait for a commit, the oldest first. */
export class PlantQueue {
  private plants: QueuedPlant[] = [];
  private length = 0;

  /** @param patience milliseconds that a plant waits at the most, its commit included */
  constructor(private readonly patience: number) {}

  get isEmpty(): boolean {
    return this.plants.length === 0;
  }

  /** How many wait. */
  get size(): number {
    return this.plants.length;
  }

  /** Whether the service is overloaded: nothing more may wait. */
  get isFull(): boolean {
    return this.plants.length >= QUEUE_BOUND || this.length >= LENGTH_BOUND;
  }

  /**
   * Adds a plant and resolves once it is stored.
   *
   * @throws Fault OVERLOADED where the queue is full; rejects with what its commit fails with, or with
   *   a StoreAwayError where that takes too long
   */
  add(plant: Plant, span?: RequestSpan): Promise<void> {
    if (this.isFull) throw new Fault(ERRORS.OVERLOADED);
    return new Promise((stored, failed) => {
      const timer = setTimeout(() => this.giveUp(queued), this.patience);
      const queued: QueuedPlant = { plant, stored, failed, timer, span };
      this.plants.push(queued);
      this.length += lengthOf(plant);
    });
  }

  /** Takes the oldest plants out, for one commit. */
  takeGroup(): QueuedPlant[] {
    const group = this.plants.splice(0, GROUP_BOUND);
    for (const { plant } of group) this.length -= lengthOf(plant);
    return group;
  }

  /** A plant whose group is under way may be stored all the same; one that still waits is not. */
  private giveUp(queued: QueuedPlant): void {
    const at = this.plants.indexOf(queued);
    if (at >= 0) {
      this.plants.splice(at, 1);
      this.length -= lengthOf(queued.plant);
    }
    queued.failed(new StoreAwayError('the store took too long'));
  }
}

function lengthOf({ name, tag }: Plant): number {
  return name.length + (tag?.length ?? 0);
}
