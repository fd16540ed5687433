import { Injectable, Logger } from '@nestjs/common';
import { describeError } from '../describe-error.js';

/** Whether the store is there, as the last requests and probes found it; its comings and goings are logged. */
@Injectable()
export class StoreState {
  private readonly logger = new Logger('Store');
  private awaySince: number | undefined;
  /** The newest sign that the store is away, and when it came, by performance.now(). */
  lastAway: { readonly error: unknown; readonly at: number } | undefined;

  /** A request, or a probe, failed because the store is away. */
  noteAway(error: unknown): void {
    this.lastAway = { error, at: performance.now() };
    if (this.awaySince !== undefined) return;
    this.awaySince = Date.now();
    this.logger.error(`the store is away: ${describeError(error)}`);
  }

  /** The store has just taken plants, or a probe. */
  noteThere(): void {
    this.lastAway = undefined;
    if (this.awaySince === undefined) return;
    const seconds = (Date.now() - this.awaySince) / 1_000;
    this.awaySince = undefined;
    this.logger.log(`the store is back after ${seconds.toFixed(1)} s`);
  }
}
