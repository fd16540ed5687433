import type { Logger } from '@nestjs/common';
import { describeError } from './operator-message.js';

/** Tracks whether a part that the service needs is unavailable. Logs once when that begins, and once when it ends. */
export class AvailabilityLog {
  private since: number | undefined;

  /**
   * @param what the part: `the store`
   * @param level of the line that says that it is unavailable
   */
  constructor(
    private readonly logger: Logger,
    private readonly what: string,
    private readonly level: 'warn' | 'error' = 'warn',
  ) {}

  get isUnavailable(): boolean {
    return this.since !== undefined;
  }

  /** To be called at each failure. */
  markUnavailable(error: unknown): void {
    if (this.since !== undefined) return;
    this.since = Date.now();
    this.logger[this.level](`${this.what} is unavailable: ${describeError(error)}`);
  }

  /** To be called at each success. */
  markAvailable(): void {
    if (this.since === undefined) return;
    const seconds = (Date.now() - this.since) / 1_000;
    this.since = undefined;
    this.logger.log(`${this.what} is available again after ${seconds.toFixed(1)} s`);
  }
}
