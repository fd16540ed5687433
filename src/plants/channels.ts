import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { Plant } from './plant.entity.js';

/** A plant waits for its commit. Published in the context of its request. */
export interface PlantQueued {
  readonly plant: Plant;
}

/** A group of plants is committed. */
export interface Commit {
  readonly plants: readonly Plant[];
  /** By performance.now(). */
  readonly startedAt: number;
  /** How many were written that were not there before. */
  inserted: number;
  /** What the commit failed with. */
  readonly error?: unknown;
}

/** Publishes each {@link PlantQueued}. */
export const plantQueued = channel<PlantQueued>('plant-store.plants.queued');

/** Traces the promise of each {@link Commit}. */
export const commits = tracingChannel<Commit>('plant-store.plants.commit');
