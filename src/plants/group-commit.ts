import { tracingChannel } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Writer } from '../database/engine.js';
import { StoreInspection } from '../database/inspection.js';
import { ERRORS, ApiException, StoreUnavailableException } from '../errors/error-codes.js';
import { CONTENT, type UncommittedPlant } from './plant.entity.js';
import { PlantsRepository } from './plants.repository.js';

/** Plants that may wait; at that the service is overloaded. */
export const MAX_QUEUED = 256;
/** Characters in one commit at most, unless one plant has more: a group is in memory several times. */
const MAX_GROUP_LENGTH = 2 ** 20;

/** How many times the event loop reads its sockets at most in a batch window. */
const MAX_POLLS = 4;
const SHUTDOWN_POLL_MS = 10;

export interface Commit {
  readonly plants: readonly UncommittedPlant[];
  /** By performance.now(). */
  readonly startedAt: number;
  /** Set by the channel unless the commit failed; `inserted` counts new plants. */
  readonly result?: { readonly inserted: number };
}

export const commits = tracingChannel<Commit>('plant-store.plants.commit');

interface QueuedPlant {
  readonly plant: UncommittedPlant;
  /** Characters of its content. */
  readonly length: number;
  readonly stored: PromiseWithResolvers<void>;
  /** Whether its request waits no longer. */
  isOver: boolean;
}

/** Plants that arrive during a commit share the next one, and one wait for stable storage (docs/performance.md). */
@Injectable()
export class GroupCommit implements OnApplicationShutdown {
  /** Oldest first. */
  private queue: QueuedPlant[] = [];
  private committers = 0;
  /** Set while requests may still join the next group. */
  private batchWindow: PromiseWithResolvers<void> | undefined;

  constructor(
    private readonly plants: PlantsRepository,
    private readonly inspection: StoreInspection,
    private readonly writer: Writer,
  ) {}

  get queued(): number {
    return this.queue.length;
  }

  /** Whether no plant waits for a commit, or is in one. */
  get isIdle(): boolean {
    return this.committers === 0;
  }

  get isFull(): boolean {
    return this.queue.length >= MAX_QUEUED;
  }

  /**
   * Resolves once a plant is durable: written now, or earlier with the same content. @throws ApiException OVERLOADED,
   * ID_TAKEN; StoreUnavailableException if it may be stored; the database's error
   */
  async commit(plant: UncommittedPlant): Promise<void> {
    if (this.isFull) throw new ApiException(ERRORS.OVERLOADED);
    const length = CONTENT.reduce((sum, field) => sum + (plant[field]?.toString().length ?? 0), 0);
    const stored: QueuedPlant['stored'] = Promise.withResolvers();
    const queued: QueuedPlant = { plant, length, stored, isOver: false };
    try {
      await this.inspection.awaitInTime(() => this.enqueue(queued));
    } catch (error) {
      queued.isOver = true;
      // A plant that still waits is not stored; one whose group is being committed may be all the same.
      const at = this.queue.indexOf(queued);
      if (at >= 0) this.queue.splice(at, 1);
      throw error;
    }
  }

  private enqueue(queued: QueuedPlant): Promise<void> {
    this.queue.push(queued);
    if (this.queue.length === MAX_QUEUED) this.batchWindow?.resolve();
    if (!this.batchWindow && this.committers < this.writer.concurrency) void this.commitGroups();
    return queued.stored.promise;
  }

  /** A client that has left may have left a plant in the queue. */
  async onApplicationShutdown(): Promise<void> {
    while (!this.isIdle) await sleep(SHUTDOWN_POLL_MS);
  }

  private async commitGroups(): Promise<void> {
    this.committers += 1;
    for (;;) {
      if (!this.isFull) {
        await (this.batchWindow ??= this.openBatchWindow()).promise;
        this.batchWindow = undefined;
      }
      const group = this.takeGroup();
      if (group.length === 0) break;
      await this.commitGroup(group);
    }
    this.committers -= 1;
  }

  /** Waits for requests that may share the next group, as of clients of the previous one. As many as may wait end it. */
  private openBatchWindow(): PromiseWithResolvers<void> {
    const batchWindow: PromiseWithResolvers<void> = Promise.withResolvers();
    void this.pollUntilQuiet().then(batchWindow.resolve);
    return batchWindow;
  }

  private async pollUntilQuiet(): Promise<void> {
    for (let [polls, found] = [0, 0]; polls < MAX_POLLS && found < this.queue.length; polls++) {
      found = this.queue.length;
      await nextPoll();
    }
  }

  private takeGroup(): QueuedPlant[] {
    let [size, total] = [0, 0];
    for (const { length } of this.queue) {
      if (size > 0 && total + length > MAX_GROUP_LENGTH) break;
      size += 1;
      total += length;
    }
    return this.queue.splice(0, size);
  }

  /** Commits a group. If that fails, and no inspection says why, commits its halves, so that a bad plant fails alone. */
  private async commitGroup(group: QueuedPlant[], isHalf = false): Promise<void> {
    if (group.length === 0) return;
    const plants = group.map(({ plant }) => plant);
    const insert = () => this.plants.insertOrCompare(plants);
    try {
      // A problem may have been found since these plants began to wait.
      this.inspection.assertSound();
      const commit = { plants, startedAt: performance.now() };
      const { inserted, conflicts } = await commits.tracePromise(insert, commit);
      if (inserted > 0) this.inspection.recordCommit();
      for (const { plant, stored } of group)
        if (conflicts.has(plant)) stored.reject(new ApiException(ERRORS.ID_TAKEN));
        else stored.resolve();
    } catch (cause) {
      const error = isHalf
        ? this.inspection.recordFailure(cause)
        : await this.inspection.explainFailure(cause);
      if (group.length === 1 || error instanceof StoreUnavailableException)
        for (const { stored } of group) stored.reject(error);
      else await this.commitHalves(group);
    }
  }

  private async commitHalves(group: QueuedPlant[]): Promise<void> {
    const half = Math.ceil(group.length / 2);
    for (const part of [group.slice(0, half), group.slice(half)]) {
      const waiting = part.filter(({ isOver }) => !isOver);
      await this.commitGroup(waiting, true);
    }
  }
}

const CELL = new Int32Array(new SharedArrayBuffer(4));

/** Node resolves waitAsync() once it has read its sockets again; setImmediate() would wait for the end of a long turn. */
async function nextPoll(): Promise<void> {
  const { value } = Atomics.waitAsync(CELL, 0, 0);
  Atomics.notify(CELL, 0);
  await value;
}
