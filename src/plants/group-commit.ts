/**
 * The group commit. A plant, which a client creates, is durable once a commit has it on the disk, or on a standby. That takes
 * as long for many plants as for one, so plants that arrive during a commit share the next one (docs/performance.md):
 *
 * 1. A request puts its plant into the queue, and waits. If 256 wait already, the service is overloaded and refuses the plant.
 * 2. A committer opens a batch window, a short time in which plants may still join: the clients of the group before have just
 *    had their responses, and send their next plants. Without it, the first of these would be committed alone while the others wait.
 * 3. The window ends as soon as there are as many plants as open connections, as with one client, as soon as one round of reading
 *    sockets brings no further plant, after four rounds, or once the queue is full. Committers share a window: the first takes
 *    the group, and the other may find the queue empty.
 * 4. The committer commits the oldest plants in one statement. Only then their requests get 200: the plants are acknowledged. One
 *    whose id is taken is refused, unless it is the stored plant once more. Some engines have use for several committers at
 *    once. A committer ends when no plant waits.
 * 5. The inspection compares the store with what it must be, each second and after a failed commit (database/inspection.ts). If
 *    it finds a problem, the whole group fails. If not, one plant may be the reason: the halves of the group are committed, then
 *    their halves, until that plant fails alone. No half causes an inspection, but the request of that plant may.
 * 6. After half of DATABASE_TIMEOUT a request gives up, and takes its plant out of the queue. If the plant is being committed by
 *    then, the response is a 503, after which it may be stored.
 * 7. A stop waits for the committers: a client that has closed its connection does not take its plant out of the queue.
 */
import { tracingChannel } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Writer } from '../database/engine.js';
import { StoreInspection } from '../database/inspection.js';
import { ERRORS, ApiException, StoreUnavailableException } from '../errors/error-codes.js';
import { Connections } from '../http/connections.js';
import { CONTENT, type UncommittedPlant } from './plant.entity.js';
import { PlantsRepository } from './plants.repository.js';

export const MAX_QUEUED = 256;
/** A group has at most this many characters, unless one plant has more: it is in memory several times. */
const MAX_GROUP_LENGTH = 2 ** 20;
/** A group waits for at most four rounds of reading sockets for more plants. */
const MAX_POLLS = 4;
const SHUTDOWN_POLL_MS = 10;

export interface Commit {
  readonly plants: readonly UncommittedPlant[];
  /** The time by performance.now(). */
  readonly startedAt: number;
  /** Set by the channel unless the commit failed; `inserted` counts new plants. */
  readonly result?: { readonly inserted: number };
}

/** Publishes each commit, for the metrics. */
export const commits = tracingChannel<Commit>('plant-store.plants.commit');

interface QueuedPlant {
  readonly plant: UncommittedPlant;
  /** The number of characters of its content. */
  readonly length: number;
  readonly stored: PromiseWithResolvers<void>;
  /** Whether its request waits no longer. */
  hasLeft: boolean;
}

@Injectable()
export class GroupCommit implements OnApplicationShutdown {
  /** The plants that wait, oldest first. */
  private queue: QueuedPlant[] = [];
  private committers = 0;
  /** Set while requests may still join the next group. */
  private batchWindow: PromiseWithResolvers<void> | undefined;

  constructor(
    private readonly plants: PlantsRepository,
    private readonly inspection: StoreInspection,
    private readonly writer: Writer,
    private readonly connections: Connections,
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
    const queued: QueuedPlant = { plant, length, stored, hasLeft: false };
    try {
      await this.inspection.awaitInTime(() => this.enqueue(queued));
    } catch (error) {
      queued.hasLeft = true;
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

  private openBatchWindow(): PromiseWithResolvers<void> {
    const batchWindow: PromiseWithResolvers<void> = Promise.withResolvers();
    void this.pollUntilQuiet().then(batchWindow.resolve);
    return batchWindow;
  }

  /**
   * A client that waits for its plant mostly sends no other: with as many plants as connections the group is taken for complete.
   * Plants that come past HTTP, or two on a connection, are more, and wait as before.
   */
  private async pollUntilQuiet(): Promise<void> {
    for (let [polls, found] = [0, 0]; polls < MAX_POLLS && found < this.queue.length; polls++) {
      if (this.queue.length === this.connections.count) return;
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

  private async commitGroup(taken: QueuedPlant[], isHalf = false): Promise<void> {
    const group = taken.filter(({ hasLeft }) => !hasLeft);
    if (group.length === 0) return;
    const plants = group.map(({ plant }) => plant);
    const insert = () => this.plants.insertOrCompare(plants);
    try {
      // An inspection may have found a problem since these plants began to wait.
      this.inspection.assertSound();
      const commit = { plants, startedAt: performance.now() };
      const { inserted, conflicts } = await commits.tracePromise(insert, commit);
      if (inserted > 0) this.inspection.recordCommit();
      for (const { plant, stored } of group)
        if (conflicts.has(plant)) stored.reject(new ApiException(ERRORS.ID_TAKEN));
        else stored.resolve();
    } catch (cause) {
      // For a half, the inspection after the whole group's failure has found nothing.
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
    await this.commitGroup(group.slice(0, half), true);
    await this.commitGroup(group.slice(half), true);
  }
}

const CELL = new Int32Array(new SharedArrayBuffer(4));

/**
 * Resolves once Node has read its sockets again. Node settles waitAsync() at its next poll, while setImmediate() would wait for
 * the end of a round of the event loop, which may be long. The cell has the value 0, so it waits until it is notified.
 */
async function nextPoll(): Promise<void> {
  const { value } = Atomics.waitAsync(CELL, 0, 0);
  Atomics.notify(CELL, 0);
  await value;
}
