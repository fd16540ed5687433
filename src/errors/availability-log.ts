import type { Server } from 'node:http';
import { Logger } from '@nestjs/common';
import { describeError } from './operator-message.js';

/** Milliseconds between two lines about the same outage. */
const REPEAT_INTERVAL_MS = 60_000;

/**
 * Tracks whether a part that the service needs is unavailable. Logs the reason when that begins and once a minute while
 * failures go on, and a line when it ends.
 */
export class AvailabilityLog {
  /** When the outage began, by performance.now(), and whether a line about it may be logged now. */
  private outage: { readonly since: number; readonly mayLog: () => boolean } | undefined;

  /**
   * @param what the part: `the store`
   * @param level of the line that says that it is unavailable
   */
  constructor(
    private readonly logger: Pick<Logger, 'log' | 'warn' | 'error'>,
    private readonly what: string,
    private readonly level: 'warn' | 'error' = 'warn',
  ) {}

  get isUnavailable(): boolean {
    return this.outage !== undefined;
  }

  /** To be called at each failure. */
  markUnavailable(error: unknown): void {
    const state = this.outage ? `still unavailable after ${this.measure()}` : 'unavailable';
    this.outage ??= { since: performance.now(), mayLog: createThrottle(REPEAT_INTERVAL_MS) };
    if (!this.outage.mayLog()) return;
    this.logger[this.level](`${this.what} is ${state}: ${describeError(error)}`);
  }

  /** To be called at each success. */
  markAvailable(): void {
    if (!this.outage) return;
    const duration = this.measure();
    this.outage = undefined;
    this.logger.log(`${this.what} is available again after ${duration}`);
  }

  private measure(): string {
    const seconds = (performance.now() - (this.outage?.since ?? 0)) / 1_000;
    return `${seconds.toFixed(1)} s`;
  }
}

/**
 * Limits how often a line is logged that clients or an outage could cause without end.
 *
 * @param intervalMs least time between two lines, in milliseconds
 * @returns a function that tells whether a line may be logged now
 */
export function createThrottle(intervalMs = 10_000): () => boolean {
  let lastAt = -Infinity;
  return () => {
    const now = performance.now();
    if (now - lastAt < intervalMs) return false;
    lastAt = now;
    return true;
  };
}

/** Logs connections that cannot be accepted, because of EMFILE for example, instead of ending the process. */
export function surviveAcceptErrors(server: Server): void {
  const mayLog = createThrottle();
  server.on('error', (error) => {
    // The caller handles the error of a server that does not listen yet.
    if (!server.listening || !mayLog()) return;
    new Logger('Http').error(`a connection was not accepted: ${error.message}`);
  });
}
