import type { Server } from 'node:http';
import type { Logger } from '@nestjs/common';
import { describeError } from './operator-message.js';

/** Minimum time between two lines about the same outage. */
const REPEAT_INTERVAL_MS = 60_000;
/** Minimum time between two lines about connections that cannot be accepted. */
const ACCEPT_INTERVAL_MS = 10_000;

/** Logs when a part that the service needs becomes unavailable, once a minute while that lasts, and when it ends. */
export class AvailabilityLog {
  /** By performance.now(); undefined while the part is available. */
  private unavailableSince: number | undefined;
  private loggedAt = 0;

  /** @param what the part: `the store` @param level of the line that says that it is unavailable */
  constructor(
    private readonly logger: Pick<Logger, 'log' | 'warn' | 'error'>,
    private readonly what: string,
    private readonly level: 'warn' | 'error' = 'warn',
  ) {}

  markUnavailable(error: unknown): void {
    const now = performance.now();
    const since = this.unavailableSince;
    if (since !== undefined && now - this.loggedAt < REPEAT_INTERVAL_MS) return;
    this.unavailableSince ??= now;
    this.loggedAt = now;
    const state =
      since === undefined ? 'unavailable' : `still unavailable after ${formatSince(since)}`;
    this.logger[this.level](`${this.what} is ${state}: ${describeError(error)}`);
  }

  markAvailable(): void {
    if (this.unavailableSince === undefined) return;
    this.logger.log(`${this.what} is available again after ${formatSince(this.unavailableSince)}`);
    this.unavailableSince = undefined;
  }
}

function formatSince(start: number): string {
  return `${((performance.now() - start) / 1_000).toFixed(1)} s`;
}

/** Logs connections that cannot be accepted, because of EMFILE for example, instead of ending the process. */
export function logAcceptErrors(server: Server, logger: Pick<Logger, 'error'>): void {
  let mayLogAt = 0;
  server.on('error', (error) => {
    // The caller handles the error of a server that does not listen yet.
    if (!server.listening || performance.now() < mayLogAt) return;
    mayLogAt = performance.now() + ACCEPT_INTERVAL_MS;
    logger.error(`a connection was not accepted: ${error.message}`);
  });
}
