/**
 * The state of the store, which everybody asks here: creates, lookups of tokens, /readyz, the metric.
 *
 * 1. Once a second the engine inspects the store: postgres/inspection.ts and sqlite/inspection.ts say what a store is. Without
 *    it, an operator's change would be noticed only by those plants that it harms.
 * 2. What it finds is a {@link StoreProblem}. From then on nothing begins to wait for the store: {@link StoreInspection.awaitInTime}
 *    refuses with 503 at once, until an inspection finds nothing any more.
 * 3. An inspection reads. A full disk, or a standby that is away, shows only when something is committed. If a monitor has asked
 *    or a request has failed, the inspection therefore commits an empty transaction too, in the way of a create. It skips that
 *    if a create has just committed.
 * 4. An inspection may fail or be late because the service is busy. That is a problem only if no create has committed since it
 *    began: load must not end the service.
 * 5. A request may fail before the next inspection begins. If its error may come from a store that was changed, an inspection
 *    begins at once, and what it finds is the reason of the 503.
 */
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Config } from '../config/config.js';
import { AvailabilityLog } from '../errors/availability-log.js';
import { StoreUnavailableException } from '../errors/error-codes.js';
import { Logger, Writer } from './engine.js';
import {
  isTransient,
  mayBeSymptom,
  StoreProblem,
  TOO_LONG,
  toStoreError,
  toStoreUnavailable,
} from './store-errors.js';

const INTERVAL_MS = 1_000;
/** Clients of health checks have short timeouts themselves. */
const MAX_CHECK_MS = 2_000;
/** How long creates may commit without an inspection before the log warns of it. */
const MAX_UNINSPECTED_MS = 10_000;
/** The log reports the end of an outage once no request has failed for this time, or for `waitTimeoutMs` if that is shorter. */
const MAX_STEADY_MS = 5_000;

@Injectable()
export class StoreInspection implements OnModuleInit, OnApplicationShutdown {
  private readonly availability = new AvailabilityLog(new Logger('Store'), 'the store');
  private readonly late = new AvailabilityLog(new Logger('Store'), 'the inspection of the store');
  private readonly timeoutMs: number;
  private timer: NodeJS.Timeout | undefined;
  private current: Promise<void> | undefined;
  private problem: StoreUnavailableException | undefined;
  /** Whether the next inspection is to commit, too. */
  private mustCommit = false;
  /** When a create was last committed, and when it was last tried to commit anything, by performance.now(). */
  private committedAt = -Infinity;
  private triedAt = -Infinity;
  private failedAt = -Infinity;
  private inspectedAt = performance.now();

  constructor(
    { waitTimeoutMs }: Config,
    @Inject(Writer) private readonly writer: Pick<Writer, 'inspect' | 'commitNothing'>,
  ) {
    this.timeoutMs = waitTimeoutMs;
  }

  onModuleInit(): void {
    this.timer = setInterval(() => void this.inspect(), INTERVAL_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.current;
  }

  /**
   * Begins to work with the store unless it has a problem, and waits for at most `waitTimeoutMs`.
   * @throws StoreUnavailableException; what the work throws
   */
  async awaitInTime<Value>(begin: () => Promise<Value>): Promise<Value> {
    this.assertSound();
    const until = performance.now() + this.timeoutMs;
    try {
      return await withTimeout(begin(), this.timeoutMs);
    } catch (error) {
      const explained = this.explainFailure(error);
      const late = (reason: unknown) => this.recordFailure(reason);
      throw await withTimeout(explained, until - performance.now()).catch(late);
    }
  }

  /** @throws StoreUnavailableException while the latest inspection has found a problem */
  assertSound(): void {
    if (this.problem) throw this.problem;
  }

  /** Returns what {@link toStoreError} makes of an error. If the store is unavailable, logs it and has a commit tried. */
  recordFailure(error: unknown): unknown {
    const reason = toStoreError(error);
    if (reason instanceof StoreUnavailableException && reason !== this.problem) {
      this.failedAt = performance.now();
      this.mustCommit = true;
      this.availability.markUnavailable(reason);
    }
    return reason;
  }

  /**
   * As {@link recordFailure}; but where the store itself may be the reason, it is the problem that an inspection finds. Until
   * then others would still be acknowledged.
   */
  async explainFailure(error: unknown): Promise<unknown> {
    if (mayBeSymptom(error)) {
      // The one in progress may have begun before the failure, but a problem that it finds may be gone at the next one.
      await this.current;
      if (!this.problem) await this.inspect();
      if (this.problem) return this.problem;
    }
    return this.recordFailure(error);
  }

  recordCommit(): void {
    this.committedAt = performance.now();
  }

  /** Waits for an inspection that has tried to commit within the last second. @throws why the store takes no writes */
  async assertAvailable(): Promise<void> {
    const isRecent = () =>
      performance.now() - Math.max(this.committedAt, this.triedAt) < INTERVAL_MS;
    const check = async () => {
      // The inspection in progress may be past its commit, so a second one may follow.
      for (let tries = 0; tries < 2 && !isRecent(); tries++) {
        this.mustCommit = true;
        await this.inspect();
      }
    };
    await withTimeout(check(), Math.min(this.timeoutMs, MAX_CHECK_MS));
    this.assertSound();
  }

  /** Joins the inspection in progress, or begins one. */
  private inspect(): Promise<void> {
    this.current ??= this.inspectOnce().finally(() => (this.current = undefined));
    return this.current;
  }

  private async inspectOnce(): Promise<void> {
    const began = performance.now();
    const work = this.inspectAndCommit(began);
    try {
      await withTimeout(work, this.timeoutMs);
      this.report(undefined);
    } catch (error) {
      if (isTransient(error) && this.committedAt >= began) {
        this.reportLate(error);
        return;
      }
      // Any error is one: a store whose rights were revoked takes no plant either.
      const problem = toStoreUnavailable(toStoreError(error));
      this.report(problem);
      const endProblem = () => this.problem === problem && this.report(undefined);
      // A late inspection that finds nothing after all ends its own problem.
      work.then(endProblem, () => undefined);
    }
  }

  private async inspectAndCommit(began: number): Promise<void> {
    await this.writer.inspect();
    if (!this.mustCommit) return;
    if (this.committedAt < began - INTERVAL_MS) await this.writer.commitNothing();
    this.triedAt = performance.now();
    this.mustCommit = false;
  }

  /** Creates commit, so the store is there: but what an inspection would find is not known. */
  private reportLate(error: unknown): void {
    if (performance.now() - this.inspectedAt > MAX_UNINSPECTED_MS) this.late.markUnavailable(error);
  }

  private report(problem: StoreUnavailableException | undefined): void {
    this.problem = problem;
    this.inspectedAt = performance.now();
    this.late.markAvailable();
    if (problem) {
      // A commit may have been what failed.
      this.mustCommit = true;
      this.triedAt = performance.now();
      // A create may have failed before, with an error that says nothing of a remedy.
      this.availability.markUnavailable(problem, problem instanceof StoreProblem);
    } else if (performance.now() - this.failedAt >= Math.min(this.timeoutMs, MAX_STEADY_MS))
      this.availability.markAvailable();
  }
}

/** @throws StoreUnavailableException if the promise is not settled in time */
function withTimeout<Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const expire = () => reject(new StoreUnavailableException(TOO_LONG));
    // The immediate lets a result that has arrived win over the timeout.
    const timer = setTimeout(() => setImmediate(expire), Math.max(0, timeoutMs));
    void promise.then(resolve, reject).then(() => clearTimeout(timer));
  });
}
