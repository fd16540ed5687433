import type { Socket } from 'node:net';
import { admitRequests } from '../node.js';

/** Pieces that may be of any size, and the bytes that further ones must have on average. */
const MAX_SMALL_PIECES = 64;
const MIN_AVERAGE_BYTES = 256;
/** Bytes that TLS may take on the wire besides those that it brings, and as many again for these. */
const MAX_OVERHEAD_BYTES = 2 * 1024;

/**
 * What a connection has had read since its last request with an active token, against the bytes that it brought. A chunk
 * of a body (RFC 9112, section 7.1) or a TLS record of one byte costs as much time as one of 16 KiB, and a key update of
 * TLS (RFC 8446, section 4.6.3) brings nothing at all.
 */
export class Reading {
  private pieces = 0;
  private bytes = 0;
  private requests = 0;
  private wholeRequests = 0;
  private readonly handshakeBytes: number;

  /**
   * @param socket that brings what is read
   * @param admits is called before each request; false: neither it nor the rest of what was read is parsed
   * @param wire that was accepted, if the socket speaks TLS on it
   */
  constructor(
    private readonly socket: Socket,
    admits: () => boolean,
    private readonly wire?: Socket,
  ) {
    admitRequests(socket, admits);
    this.handshakeBytes = wire?.bytesRead ?? 0;
    // One event for each record.
    if (wire) socket.on('data', (record: Buffer) => this.addPiece(record.length));
  }

  /** Adds a chunk or a record of this many bytes, and ends a connection that brings them too small. */
  addPiece(bytes: number): void {
    this.pieces += 1;
    this.bytes += bytes;
    if (this.bytes < MIN_AVERAGE_BYTES * (this.pieces - MAX_SMALL_PIECES)) this.socket.destroy();
  }

  addRequest(): void {
    this.requests += 1;
  }

  /** Adds the end of a request. */
  addWhole(): void {
    this.wholeRequests += 1;
  }

  /** Counts pieces from here. */
  forgive(): void {
    this.pieces = this.bytes = 0;
  }

  /** Ends a connection that brings records without bytes, of which there is no event. */
  checkWire(): void {
    if (!this.wire) return;
    const { bytesRead } = this.socket;
    const overhead = this.wire.bytesRead - this.handshakeBytes - bytesRead;
    if (overhead > MAX_OVERHEAD_BYTES + bytesRead) this.socket.destroy();
  }

  /** Whether the head of the latest request has come, and its body has not. */
  get isInBody(): boolean {
    return this.requests > this.wholeRequests;
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
}
