import { channel, tracingChannel } from 'node:diagnostics_channel';
import type { Config } from '../config/config.js';
import type { Plant } from './plant.entity.js';

/** A plant waits for its commit. Published in the context of its request. */
export interface PlantQueued {
  /** Of the application that it is of: channels are those of the process. */
  readonly config: Config;
  readonly plant: Plant;
}

/** A group of plants is committed. */
export interface Commit {
  readonly config: Config;
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
