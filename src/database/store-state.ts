import { Injectable, Logger } from '@nestjs/common';
import { Outage } from '../errors/outage.js';

/** Whether the store is available, as the last requests and probes found it. */
@Injectable()
export class StoreState {
  private readonly outage = new Outage(new Logger('Store'), 'the store', 'error');
  /** The newest sign that the store is unavailable, and when it came, by performance.now(). */
  lastFailure: { readonly error: unknown; readonly at: number } | undefined;

  /** A request, or a probe, failed because the store is unavailable. */
  markUnavailable(error: unknown): void {
    this.lastFailure = { error, at: performance.now() };
    this.outage.begin(error);
  }

  /** The store has just taken plants, or a probe. */
  markAvailable(): void {
    this.lastFailure = undefined;
    this.outage.end();
  }
}
