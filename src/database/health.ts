import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { StoreUnavailableException } from '../errors/error-codes.js';
import { AvailabilityLog } from '../errors/availability-log.js';
import { Logger, Writer } from './engine.js';
import { TOO_LONG, toStoreError } from './store-errors.js';

/** How long the outcome of a probe is used. */
const PROBE_TTL_MS = 1_000;
/** Clients of health checks have short timeouts themselves. */
const MAX_PROBE_MS = 2_000;
/** The longest time without a failure that ends an outage. */
const MAX_STEADY_MS = 5_000;

/** Judges by requests and probes whether the store is available. An outage may affect some plants only, as of one server. */
@Injectable()
export class StoreHealth {
  private readonly availability = new AvailabilityLog(new Logger('Store'), 'the store');
  private readonly timeoutMs: number;
  private lastFailure: { readonly error: unknown; readonly at: number } | undefined;
  /** In flight, or of the last second. It may outlive the checks that wait for it. */
  private probe: Promise<void> | undefined;

  constructor(
    { waitTimeoutMs }: Config,
    @Inject(Writer) private readonly writer: Pick<Writer, 'probe'>,
  ) {
    this.timeoutMs = waitTimeoutMs;
  }

  /** Waits for a lookup or a commit, at most `waitTimeoutMs`. @throws what {@link recordFailure} returns */
  async awaitInTime<Value>(promise: Promise<Value>): Promise<Value> {
    try {
      return await withTimeout(promise, this.timeoutMs);
    } catch (error) {
      throw this.recordFailure(error);
    }
  }

  /** Returns what {@link toStoreError} makes of an error, and records it if the store is unavailable. */
  recordFailure(error: unknown): unknown {
    const reason = toStoreError(error);
    if (reason instanceof StoreUnavailableException) this.markUnavailable(reason);
    return reason;
  }

  private markUnavailable(error: unknown): void {
    this.lastFailure = { error, at: performance.now() };
    this.availability.markUnavailable(error);
  }

  markAvailable(): void {
    const sinceFailureMs = performance.now() - (this.lastFailure?.at ?? -Infinity);
    if (sinceFailureMs < Math.min(this.timeoutMs, MAX_STEADY_MS)) return;
    this.lastFailure = undefined;
    this.availability.markAvailable();
  }

  /** Probes at most once a second. @throws why the store takes no writes */
  async assertAvailable(): Promise<void> {
    try {
      this.probe ??= this.writer.probe().finally(() => {
        setTimeout(() => (this.probe = undefined), PROBE_TTL_MS).unref();
      });
      await withTimeout(this.probe, Math.min(this.timeoutMs, MAX_PROBE_MS));
      this.markAvailable();
    } catch (error) {
      // Any error: a store whose rights were revoked takes no plant either.
      this.markUnavailable(toStoreError(error));
    }
    if (this.lastFailure) throw this.lastFailure.error;
  }
}

/** @throws StoreUnavailableException if the promise is not settled in time */
function withTimeout<Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const expire = () => reject(new StoreUnavailableException(TOO_LONG));
    // In an immediate: a result that has arrived wins over the timeout.
    const timer = setTimeout(() => setImmediate(expire), timeoutMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
