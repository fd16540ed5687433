import type { HealthIndicatorResult } from '@nestjs/terminus';

/** What the management listener looks at: a process that serves, or one that keeps several. */
export interface Monitored {
  /** The outcome of each check that must be well for requests to be sent here. */
  health(): Promise<HealthIndicatorResult>;
  /** All metrics, in Prometheus's text format, version 0.0.4. */
  metrics(): Promise<string>;
}

/** Nest's token for the one {@link Monitored}. */
export const MONITORED = Symbol('MONITORED');
