import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config/config.js';
import { StoreUnavailable } from '../errors/errors.js';
import { Outage } from '../errors/outage.js';
import { getLookupTimeoutMs } from './engine.js';
import { toStoreError } from './store-errors.js';

/** Milliseconds for which an outcome counts: that of a request, or of a probe. */
const PROBE_TTL_MS = 1_000;
/** Milliseconds to wait for a probe at most: health checks have short timeouts themselves. */
const MAX_PROBE_MS = 2_000;
/** Milliseconds without a failure after which an outage is over, at most. */
const MAX_STEADY_MS = 5_000;

/**
 * Whether the store is available, as requests and probes find it. An outage may concern some plants alone, as where one
 * of a cluster's servers is down: it is over once nothing has failed for as long as a lookup may take.
 */
@Injectable()
export class StoreHealth implements OnApplicationShutdown {
  private readonly outage = new Outage(new Logger('Store'), 'the store', 'error');
  private readonly timeoutMs: number;
  private readonly steadyMs: number;
  /** The newest sign that the store is unavailable, and when it came, by performance.now(). */
  private lastFailure: { readonly error: unknown; readonly at: number } | undefined;
  private check: Promise<void> | undefined;
  /** The only probe in flight, perhaps for longer than anyone waits. */
  private probing: Promise<void> | undefined;
  private closed = false;

  constructor(config: Config) {
    this.timeoutMs = getLookupTimeoutMs(config);
    this.steadyMs = Math.min(this.timeoutMs, MAX_STEADY_MS);
  }

  /**
   * Waits for the store's answer, no longer than one lookup may take.
   *
   * @throws StoreUnavailable, which is recorded; else the error of a statement that is at fault itself
   */
  async answer<Value>(promise: Promise<Value>): Promise<Value> {
    try {
      return await withTimeout(promise, this.timeoutMs);
    } catch (error) {
      throw this.failed(error);
    }
  }

  /** Returns the error by {@link toStoreError}; records that the store is unavailable. */
  failed(error: unknown): unknown {
    const reason = toStoreError(error);
    if (reason instanceof StoreUnavailable) this.markUnavailable(reason);
    return reason;
  }

  private markUnavailable(error: unknown): void {
    this.lastFailure = { error, at: performance.now() };
    this.outage.begin(error);
  }

  /** The store has just taken plants, or a probe. */
  markAvailable(): void {
    if (this.hasFailedWithin(this.steadyMs)) return;
    this.lastFailure = undefined;
    this.outage.end();
  }

  /**
   * Resolves if the store takes writes, and no outage is on. Calls within a second share one probe. There is none if
   * a request found the store unavailable in that time.
   *
   * @param probe does all that an insert does, with no plant
   * @throws the reason why it takes none
   */
  async assertAvailable(probe: () => Promise<void>): Promise<void> {
    if (this.closed) throw new StoreUnavailable('closed');
    if (!this.hasFailedWithin(PROBE_TTL_MS)) await (this.check ??= this.run(probe));
    if (this.lastFailure) throw this.lastFailure.error;
  }

  private hasFailedWithin(ms: number): boolean {
    return this.lastFailure !== undefined && performance.now() - this.lastFailure.at < ms;
  }

  /** The store is closed next; a probe would open it again. */
  onApplicationShutdown(): void {
    this.closed = true;
  }

  private async run(probe: () => Promise<void>): Promise<void> {
    try {
      this.probing ??= probe().finally(() => (this.probing = undefined));
      await withTimeout(this.probing, Math.min(this.timeoutMs, MAX_PROBE_MS));
      this.markAvailable();
    } catch (error) {
      // Even a statement at fault: a store whose rights are gone takes no plant either.
      const reason = toStoreError(error);
      this.markUnavailable(reason);
      throw reason;
    } finally {
      setTimeout(() => (this.check = undefined), PROBE_TTL_MS).unref();
    }
  }
}

/** @throws StoreUnavailable if the promise is not settled in time */
async function withTimeout<Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new StoreUnavailable('the store took too long')), timeoutMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
