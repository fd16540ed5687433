// A create, step 1 of 13: the memory and the turns of the event loop that connections share.
import type { IncomingMessage } from 'node:http';

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

/** The part of the connections' memory that one of them has reserved. */
export class Reservation {
  /** Bytes that it counts as. */
  reserved = 0;

  /** @param bytes that the connection counts as without requests */
  constructor(
    private readonly bytes: number,
    private readonly limits: SharedLimits,
  ) {
    this.reserve(bytes);
  }

  reserve(bytes: number): void {
    this.reserved += bytes;
    this.limits.add(bytes);
  }

  /** Releases bytes, or all that is reserved. */
  release(bytes = this.reserved): void {
    // A request may end after its connection was released as a whole.
    if (this.reserved === 0) return;
    this.reserved -= bytes;
    this.limits.add(-bytes);
  }

  get requestBytes(): number {
    return this.reserved - this.bytes;
  }
}

/**
 * Milliseconds for which requests are begun in a turn of the event loop, at least and at most; the others wait for the
 * next. Between the two it is as long as reading and handshakes took. libuv accepts one connection in a turn, so a turn
 * is short.
 */
const MIN_TURN_MS = 1;
const MAX_TURN_MS = 50;

interface Taker {
  takeTurn(): void;
}

/** Shares out the event loop among those that have more to do than one turn allows: first come, first served. */
export class Turns {
  private waiting: Taker[] = [];
  /** When the turn is over, by performance.now(), in milliseconds. */
  private end = 0;
  /** When the latest turn was over. */
  private over = 0;

  /** Has takeTurn() called in one of the next turns. */
  await(taker: Taker): void {
    if (this.waiting.push(taker) > 1) return;
    setImmediate(this.give);
    this.end = performance.now() + MIN_TURN_MS;
  }

  /** Whether what was begun in this turn has taken long enough. */
  get isOver(): boolean {
    return this.waiting.length > 0 && performance.now() > this.end;
  }

  private readonly give = (): void => {
    const { waiting } = this;
    this.waiting = [];
    const now = performance.now();
    const end = now + Math.max(MIN_TURN_MS, Math.min(now - this.over, MAX_TURN_MS));
    while (performance.now() < end && waiting.length > 0) waiting.shift()?.takeTurn();
    this.over = performance.now();
    if (waiting.length === 0) return;
    if (this.waiting.length === 0) setImmediate(this.give);
    this.waiting = waiting.concat(this.waiting);
  };
}
