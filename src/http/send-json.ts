import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { ErrorDto } from '../errors/error.dto.js';
import type { Answer } from './error.filter.js';
import { exchangeOf } from './exchange.js';

/**
 * Headers of every JSON answer, names and values in turn, as writeHead() takes them. They are those
 * of helmet that mean something for JSON: a browser must not take it for anything else, frame it,
 * load a thing because of it, or keep it. (OWASP REST Security Cheat Sheet, "Security Headers")
 */
export const JSON_HEADERS: readonly string[] = [
  'content-type',
  'application/json',
  'cache-control',
  'no-store',
  'content-security-policy',
  "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options',
  'nosniff',
  'x-frame-options',
  'DENY',
];

/** For which a browser then speaks nothing but TLS with this host. */
export const HSTS_MAX_AGE_SECONDS = 365 * 24 * 60 * 60;

/**
 * What an answer over TLS has besides (RFC 6797). Not `includeSubDomains`: other services of the domain
 * are not ours to decide for.
 */
const TLS_HEADERS: readonly string[] = [
  'strict-transport-security',
  `max-age=${HSTS_MAX_AGE_SECONDS}`,
];
const NONE: readonly string[] = [];

/** Those that an answer on a connection has besides, names and values in turn. */
export function tlsHeadersOf(socket: Duplex): readonly string[] {
  return (socket as Partial<TLSSocket>).encrypted ? TLS_HEADERS : NONE;
}

/**
 * Sends a JSON body in one piece; res.json() costs a fifth of the throughput.
 *
 * @param closing whether the client is told to close its connection
 */
export function sendJson(
  response: ServerResponse,
  { status, body, headers = {} }: Answer,
  closing: boolean,
): void {
  const exchange = exchangeOf(response);
  // Of answers that stood in line behind another one, Node does not say that their client has left.
  const { socket } = response.req;
  if (socket.destroyed) {
    exchange.end();
    return;
  }
  const text = JSON.stringify(body);
  if (status >= 400) exchange.error = (body as ErrorDto).error;
  response.writeHead(status, [
    ...JSON_HEADERS,
    ...tlsHeadersOf(socket),
    'x-request-id',
    exchange.requestId,
    'content-length',
    String(Buffer.byteLength(text)),
    ...Object.entries(headers).flat(),
    ...exchange.headers,
    ...(closing ? ['connection', 'close'] : []),
  ]);
  response.end(text);
}
