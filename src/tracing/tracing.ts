import type { IncomingMessage, RequestListener } from 'node:http';
import type { Span } from '@opentelemetry/api';

/** The span of a request. It is a type alone: nothing of OpenTelemetry is loaded for it. */
export type RequestSpan = Span;

/** The token of {@link Tracing}, or of undefined where there are no traces. */
export const TRACING = Symbol('tracing');

/** What the service tells of its work in traces (docs/tracing.md). */
export interface Tracing {
  /** The same listener, with a span around each request. */
  traced(listener: RequestListener): RequestListener;
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

const SPAN = Symbol('span');
type Traced = IncomingMessage & { [SPAN]?: RequestSpan };

/** The span of a request; undefined where it is not recorded, or where there are no traces. */
export function spanOf(request: IncomingMessage): RequestSpan | undefined {
  return (request as Traced)[SPAN];
}

/** From here on {@link spanOf} the request has this span. */
export function setSpan(request: IncomingMessage, span: RequestSpan): void {
  (request as Traced)[SPAN] = span;
}
