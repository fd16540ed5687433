import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { SpanStatusCode, type Span } from '@opentelemetry/api';
import type { Request } from 'express';
import type { Exchange } from '../http/exchange.js';

/** Methods that name a span; each other is `_OTHER`, since a client may send what it likes. */
const METHODS = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'TRACE',
]);

/** A request's `http.request.method` (opentelemetry.io/docs/specs/semconv/http/http-spans). */
export function methodOf({ method = '' }: IncomingMessage): string {
  return METHODS.has(method) ? method : '_OTHER';
}

/** A request's `url.scheme`. */
export function schemeOf({ socket }: IncomingMessage): string {
  return (socket as Partial<TLSSocket>).encrypted ? 'https' : 'http';
}

/**
 * Ends the span of a request with what came of it. A path is told where it is a route of ours: any
 * other may hold anything, a token that was pasted into the wrong place too.
 */
export function endRequestSpan(span: Span, exchange: Exchange): void {
  const { request, status, error, requestId } = exchange;
  const route = routeOf(request);
  const method = methodOf(request);
  span.updateName([method === '_OTHER' ? 'HTTP' : method, route].filter(Boolean).join(' '));
  if (route !== undefined) span.setAttributes({ 'http.route': route, 'url.path': request.path });
  span.setAttributes({
    'http.response.status_code': status,
    'plant_store.error': error,
    'plant_store.request_id': requestId,
  });
  if (status !== undefined && status >= 500) {
    span.setAttribute('error.type', String(status)).setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

function routeOf(request: Request): string | undefined {
  const { path } = (request.route ?? {}) as { path?: unknown };
  return typeof path === 'string' ? path : undefined;
}
