import type { Logger } from '@nestjs/common';
import { describeError } from './operator-message.js';

/** Minimum time between two lines about the same outage. */
const REPEAT_INTERVAL_MS = 60_000;

/** Logs when a part that the service needs becomes unavailable, once a minute while that lasts, and when it ends. */
export class AvailabilityLog {
  /** By performance.now(); undefined while the part is available. */
  private unavailableSince: number | undefined;
  private loggedAt = -Infinity;
  private logged: string | undefined;

  /** @param what the part: `the store` */
  constructor(
    private readonly logger: Pick<Logger, 'log' | 'error'>,
    private readonly what: string,
  ) {}

  /** @param isDiagnosis whether the reason was found out, so that it is logged at once unless it was logged last */
  markUnavailable(error: unknown, isDiagnosis = false): void {
    const now = performance.now();
    const reason = describeError(error);
    const isNews = isDiagnosis && reason !== this.logged;
    if (now - this.loggedAt < REPEAT_INTERVAL_MS && !isNews) return;
    this.unavailableSince ??= now;
    this.loggedAt = now;
    this.logged = reason;
    this.logger.error(`${this.what} is unavailable: ${reason}`);
  }

  markAvailable(): void {
    if (this.unavailableSince === undefined) return;
    const seconds = (performance.now() - this.unavailableSince) / 1_000;
    this.logger.log(`${this.what} is available again after ${seconds.toFixed(1)} s`);
    this.unavailableSince = undefined;
    this.loggedAt = -Infinity;
  }
}
