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

/** Counts the bytes of memory that a request takes until it is answered and its body is complete. */
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
  /** @param bytes that a connection holds more, or less if negative */
  add(bytes: number): void;
  readonly turns: Turns;
}

/** What one connection holds of the memory that all may hold together. */
export class Holding {
  /** Bytes that it counts as. */
  held = 0;

  /**
   * @param bytes that the connection counts as without requests
   * @param add is told how many bytes more are held, or less if negative
   */
  constructor(
    private readonly bytes: number,
    private readonly add: (bytes: number) => void,
  ) {}

  hold(bytes: number): void {
    // A request may end after its connection was released as a whole.
    if (this.held === 0 && bytes < 0) return;
    this.held += bytes;
    this.add(bytes);
  }

  /** Counts nothing any longer. */
  release(): void {
    this.hold(-this.held);
  }

  /** Bytes of memory that its requests count as. */
  get requestBytes(): number {
    return this.held - this.bytes;
  }
}
