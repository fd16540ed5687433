import { ERRORS, Fault } from '../errors/errors.js';
import type { Plant } from './plant.entity.js';

/** Plants that may wait at once, and their characters; past either the service is overloaded. */
export const MAX_QUEUED = 2048;
const MAX_QUEUED_LENGTH = 2 ** 24;
/** Plants in one commit at most. */
export const MAX_GROUP_SIZE = 512;

/** A plant that waits for its commit, and whoever waits for it, each of whom is told one outcome. */
export interface QueuedPlant {
  readonly plant: Plant;
  readonly resolve: () => void;
  readonly reject: (fault: unknown) => void;
  /** Gives the plant up in the end. */
  readonly timer: NodeJS.Timeout;
}

/** The plants that wait for a commit, the oldest first. */
export class PlantQueue {
  private plants: QueuedPlant[] = [];
  private length = 0;

  /**
   * @param timeoutMs that a plant waits at most, its commit included
   * @param onTimeout what then fails a plant
   */
  constructor(
    private readonly timeoutMs: number,
    private readonly onTimeout: () => unknown,
  ) {}

  get isEmpty(): boolean {
    return this.plants.length === 0;
  }

  /** How many wait. */
  get size(): number {
    return this.plants.length;
  }

  /** Whether the service is overloaded: nothing more may wait. */
  get isFull(): boolean {
    return this.plants.length >= MAX_QUEUED || this.length >= MAX_QUEUED_LENGTH;
  }

  /**
   * Adds a plant and resolves once it is stored.
   *
   * @throws Fault OVERLOADED where the queue is full; rejects with what its commit fails with, or with
   *   StoreUnavailable where that takes too long
   */
  add(plant: Plant): Promise<void> {
    if (this.isFull) throw new Fault(ERRORS.OVERLOADED);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.giveUp(queued), this.timeoutMs);
      const queued: QueuedPlant = { plant, resolve, reject, timer };
      this.plants.push(queued);
      this.length += lengthOf(plant);
    });
  }

  /** Takes the oldest plants out, for one commit. */
  takeGroup(): QueuedPlant[] {
    const group = this.plants.splice(0, MAX_GROUP_SIZE);
    for (const { plant } of group) this.length -= lengthOf(plant);
    return group;
  }

  /** A plant whose group is in flight may be stored all the same; one that still waits is not. */
  private giveUp(queued: QueuedPlant): void {
    const at = this.plants.indexOf(queued);
    if (at >= 0) {
      this.plants.splice(at, 1);
      this.length -= lengthOf(queued.plant);
    }
    queued.reject(this.onTimeout());
  }
}

function lengthOf({ name, tag }: Plant): number {
  return name.length + (tag?.length ?? 0);
}
