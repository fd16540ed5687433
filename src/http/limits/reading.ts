// A create, step 1 of 13: how much of a connection is read, and in which pieces.
import type { Socket } from 'node:net';
import { watchParser } from '../node.js';

/** Bytes that are read of a connection in a turn of the event loop. */
const TURN_BYTES = 64 * 1024;
/** Bytes that may come without a request: more than the longest head. Blank lines are none (RFC 9112, section 2.2). */
const MAX_IDLE_BYTES = 32 * 1024;
/** Pieces that may be of any size, and the bytes that further ones must have on average. */
const MAX_SMALL_PIECES = 64;
const MIN_AVERAGE_BYTES = 256;
/** Bytes that TLS may take on the wire besides those that it brings, and as many again for these. */
const MAX_OVERHEAD_BYTES = 2 * 1024;

/** What requests are read for. */
export interface Reader {
  /** Called before each request. @returns false if neither it nor the rest of what was read is to be parsed */
  admits(): boolean;
  /** Called when enough was read for this turn. */
  awaitNextTurn(): void;
  /** Whether it has no request in progress. */
  readonly isIdle: boolean;
}

/**
 * What is read of a connection: so much in a turn of the event loop, and since its last request with an active token in
 * pieces of a fair size. A chunk of a body (RFC 9112, section 7.1) or a TLS record of one byte costs as much time as one
 * of 16 KiB, and a key update of TLS (RFC 8446, section 4.6.3) brings nothing at all.
 */
export class Reading {
  private pieces = 0;
  private bytes = 0;
  private requests = 0;
  private wholeRequests = 0;
  /** The socket's `bytesRead` at the latest read, at the begin of the turn, and at the latest head or end of a request. */
  private readonly read = { latest: 0, turn: 0, request: 0 };
  private readonly handshakeBytes: number;

  /** @param wire that was accepted, if the socket speaks TLS on it */
  constructor(
    private readonly socket: Socket,
    private readonly reader: Reader,
    private readonly wire?: Socket,
  ) {
    watchParser(
      socket,
      () => reader.admits(),
      () => this.onRead(),
    );
    this.handshakeBytes = wire?.bytesRead ?? 0;
  }

  /** Adds a chunk or a record of this many bytes, and ends a connection that brings them too small. */
  addPiece(bytes: number): void {
    this.pieces += 1;
    this.bytes += bytes;
    if (this.bytes < MIN_AVERAGE_BYTES * (this.pieces - MAX_SMALL_PIECES)) this.socket.destroy();
  }

  addRequest(): void {
    this.requests += 1;
    this.read.request = this.socket.bytesRead;
  }

  /** Adds the end of a request. */
  addWhole(): void {
    this.wholeRequests += 1;
    this.read.request = this.socket.bytesRead;
  }

  /** Counts pieces from here. */
  forgive(): void {
    this.pieces = this.bytes = 0;
  }

  beginTurn(): void {
    this.read.turn = this.read.latest;
  }

  /** Whether nothing more is to be read in this turn. */
  get isFull(): boolean {
    return this.read.latest - this.read.turn >= TURN_BYTES;
  }

  /** Whether the head of the latest request has come, and its body has not. */
  get isInBody(): boolean {
    return this.requests > this.wholeRequests;
  }

  /** Ends a connection that brings records without bytes, of which there is no event. */
  checkWire(): void {
    if (!this.wire) return;
    const { bytesRead } = this.socket;
    const overhead = this.wire.bytesRead - this.handshakeBytes - bytesRead;
    if (overhead > MAX_OVERHEAD_BYTES + bytesRead) this.socket.destroy();
  }

  /**
   * Calls back at the end of this turn of the event loop, unless a request has become whole meanwhile: a service that
   * stood still has not read yet what had arrived in time.
   */
  unlessArrived(onLate: () => void): void {
    const { wholeRequests } = this;
    setImmediate(() => {
      if (this.wholeRequests === wholeRequests) onLate();
    });
  }

  private onRead(): void {
    const { bytesRead } = this.socket;
    // Of TLS, one read is one record.
    if (this.wire) this.addPiece(bytesRead - this.read.latest);
    this.read.latest = bytesRead;
    const idleBytes = this.reader.isIdle && !this.isInBody ? bytesRead - this.read.request : 0;
    if (idleBytes > MAX_IDLE_BYTES) this.socket.destroy();
    else if (this.isFull) this.reader.awaitNextTurn();
  }
}
