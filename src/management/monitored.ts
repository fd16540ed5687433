import type { HealthIndicatorFunction } from '@nestjs/terminus';

/** What the management listener looks at: a process that serves, or one that keeps several. */
export interface Monitored {
  /** What has to be well for requests to be sent here. */
  readonly checks: HealthIndicatorFunction[];
}

/** Nest's token for the one {@link Monitored}. */
export const MONITORED = Symbol('MONITORED');
