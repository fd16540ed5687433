// A create, step 1 of 13: the memory that the request counts as.
import type { IncomingMessage } from 'node:http';
import type { Turns } from './turns.js';

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

/** Counts the bytes of memory that a request takes until its response and its body are complete. */
export function countBytes(request: IncomingMessage, bodyLimit: number): number {
  const { headers, rawHeaders, url = '' } = request;
  const { 'content-length': length = 0, 'transfer-encoding': coding } = headers;
  const body = coding === undefined ? Math.min(Number(length), bodyLimit) : bodyLimit;
  let bytes = REQUEST_BYTES + url.length + body + FIELD_BYTES * rawHeaders.length;
  for (let i = 0; i < rawHeaders.length; i++) bytes += rawHeaders[i]?.length ?? 0;
  return bytes;
}

/** What the connections of a server have in common. */
export interface SharedLimits {
  /** The longest body that is kept, in bytes. */
  readonly bodyLimit: number;
  /** Whether the server takes no new connections, and ends those that it has behind their next response. */
  readonly isDraining: boolean;
  /** @param bytes that a connection reserves, or releases if negative */
  add(bytes: number): void;
  readonly turns: Turns;
}

/** The part of the connections' memory that one of them has reserved. */
export class Reservation {
  /** Bytes that it counts as. */
  reserved = 0;

  /**
   * @param bytes that the connection counts as without requests
   * @param add takes the bytes that are reserved, or released if negative
   */
  constructor(
    private readonly bytes: number,
    private readonly add: (bytes: number) => void,
  ) {}

  reserve(bytes: number): void {
    this.reserved += bytes;
    this.add(bytes);
  }

  /** Releases bytes, or all that is reserved. */
  release(bytes = this.reserved): void {
    // A request may end after its connection was released as a whole.
    if (this.reserved === 0) return;
    this.reserved -= bytes;
    this.add(-bytes);
  }

  /** Bytes of memory that its requests count as. */
  get requestBytes(): number {
    return this.reserved - this.bytes;
  }
}
