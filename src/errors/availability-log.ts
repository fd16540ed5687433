import type { Logger } from '@nestjs/common';
import { describeError } from './operator-message.js';

/** Minimum time between two lines about the same outage. */
const REPEAT_INTERVAL_MS = 60_000;

/** Logs when a part that the service needs becomes unavailable, once a minute while that lasts, and when it ends. */
export class AvailabilityLog {
  /** By performance.now(); undefined while the part is available. */
  private unavailableSince: number | undefined;
  private loggedAt = -Infinity;

  /** @param what the part: `the store` */
  constructor(
    private readonly logger: Pick<Logger, 'log' | 'error'>,
    private readonly what: string,
  ) {}

  /** @param isNews whether to log it though another reason was logged in this minute */
  markUnavailable(error: unknown, isNews = false): void {
    const now = performance.now();
    if (!isNews && now - this.loggedAt < REPEAT_INTERVAL_MS) return;
    this.unavailableSince ??= now;
    this.loggedAt = now;
    this.logger.error(`${this.what} is unavailable: ${describeError(error)}`);
  }

  markAvailable(): void {
    if (this.unavailableSince === undefined) return;
    const seconds = (performance.now() - this.unavailableSince) / 1_000;
    this.logger.log(`${this.what} is available again after ${seconds.toFixed(1)} s`);
    this.unavailableSince = undefined;
    this.loggedAt = -Infinity;
  }
}
