import type { IncomingMessage } from 'node:http';

/**
 * Bytes of memory that a connection counts as: its socket, its parser, and an incomplete head of 100 fields in 16 KiB.
 * TLS adds most of its own outside the heap, where a container has as much memory again (docs/operating.md, "Memory").
 */
export const CONNECTION_BYTES = 24 * 1024;
export const TLS_CONNECTION_BYTES = 64 * 1024;
/** A connection that is still negotiating TLS: OpenSSL keeps up to 128 KiB of a message twice. */
export const HANDSHAKE_BYTES = 256 * 1024;
/** A request and its response. */
const REQUEST_BYTES = 12 * 1024;
/** Each name and each value of a header, besides its characters. */
const FIELD_BYTES = 64;

/** Counts the bytes of memory that a request takes until it is answered and its body is complete. */
export function countBytes(request: IncomingMessage, bodyLimit: number): number {
  const { headers, rawHeaders, url = '' } = request;
  const { 'content-length': length = 0, 'transfer-encoding': coding } = headers;
  const body = coding === undefined ? Math.min(Number(length), bodyLimit) : bodyLimit;
  let bytes = REQUEST_BYTES + url.length + body + FIELD_BYTES * rawHeaders.length;
  for (let i = 0; i < rawHeaders.length; i++) bytes += rawHeaders[i]?.length ?? 0;
  return bytes;
}
