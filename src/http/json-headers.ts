import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

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

/** Seconds for which a browser then speaks nothing but TLS with this host. */
export const TLS_ALONE = 365 * 24 * 60 * 60;

/**
 * What an answer over TLS has besides (RFC 6797). Not `includeSubDomains`: other services of the domain
 * are not ours to decide for.
 */
const TLS_HEADERS: readonly string[] = ['strict-transport-security', `max-age=${TLS_ALONE}`];
const NONE: readonly string[] = [];

/** Those that an answer on a connection has besides, names and values in turn. */
export function tlsHeadersOf(socket: Duplex): readonly string[] {
  return (socket as Partial<TLSSocket>).encrypted ? TLS_HEADERS : NONE;
}
