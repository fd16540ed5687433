import type { RequestListener } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { Config } from '../config/config.js';

/** The span of a request. It is a type alone: nothing of OpenTelemetry is loaded for it. */
export type RequestSpan = Span;

/** The token of {@link Tracing}, or of undefined where there are no traces. */
export const TRACING = Symbol('tracing');

/** What the service tells of its work in traces (docs/tracing.md). */
export interface Tracing {
  /** The same listener, with a span around each request. */
  traced(listener: RequestListener): RequestListener;
  /** The span of the request that is served here; undefined where it is not recorded. */
  requestSpan(): RequestSpan | undefined;
  /**
   * Commits a group of plants, in a span that is linked with those of the requests that brought them.
   * It settles as the commit does.
   *
   * @param requests one for each plant
   */
  commit<Result>(
    requests: readonly (RequestSpan | undefined)[],
    commit: () => Promise<Result>,
  ): Promise<Result>;
  /** Sends the last spans. It does not reject, and is not held up by a collector that is away. */
  close(): Promise<void>;
}

/** Loads OpenTelemetry where the configuration names a collector, and only there. */
export async function openTracing(config: Config): Promise<Tracing | undefined> {
  if (config.otlpEndpoint === undefined) return undefined;
  const { OpenTelemetry } = await import('./open-telemetry.js');
  return new OpenTelemetry(config, config.otlpEndpoint);
}
