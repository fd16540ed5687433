import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { asksForUpgrade, boundChunks, countBytes, hasBody, MAX_FIELDS } from './request.js';

/** Requests of one connection that are served at once. Beyond them the connection is not read. */
export const MAX_UNANSWERED = 16;
/** The limit before a connection has sent an active token: one request is served, the others wait. */
export const MAX_UNTRUSTED = 4;
/**
 * Requests of a connection without an active token that are read at once. A crowd that sends again at once would have
 * all of the event loop's time, and new connections would wait, as libuv accepts one each time that it polls.
 */
const MAX_UNPACED = 16;
const PACE_MS = 1_000;

/**
 * Bytes of memory that a connection counts as: its socket, its parser, and an incomplete head of
 * {@link MAX_FIELDS} fields in 16 KiB. Measured on Node 26: 3 to 5 KB idle, 21 to 25 KB with such a head. TLS adds
 * up to 80 KB, but outside the heap, where a container has as much memory again (docs/operating.md, "Memory").
 */
export const CONNECTION_BYTES = 24 * 1024;
export const TLS_CONNECTION_BYTES = 64 * 1024;
/** A connection that is still negotiating TLS: OpenSSL keeps up to 128 KiB of a message twice. */
export const HANDSHAKE_BYTES = 256 * 1024;

const CONNECTION = Symbol('connection');
type Held = Socket & { [CONNECTION]: Connection };
const COUNTED = Symbol('counted');
type Counted = IncomingMessage & { [COUNTED]: number };

/** Node's parser of a connection. The number that onIncoming returns tells it how to go on. */
interface Parser {
  onIncoming: (request: IncomingMessage, shouldKeepAlive: boolean) => number;
}
/** Skips the rest of what was read, up to 64 KiB: each request in it would take 6 µs. */
const READ_NO_FURTHER = 2;

/** A request without a complete answer. */
interface Unanswered {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Called when the client has left. */
  end(): void;
}

/** What the connections of a server have in common. */
export interface SharedLimits {
  /** The longest body that is kept, in bytes. */
  readonly bodyLimit: number;
  /** Whether the server takes no new connections, and ends those that it has behind their next answer. */
  readonly isDraining: boolean;
  /** @param bytes that a connection holds more, or less if negative */
  add(bytes: number): void;
}

/**
 * A client's connection, its unanswered requests, and the memory that they hold. Node by itself would read any
 * number of pipelined requests (RFC 9112, section 9.3.2) while their answers are small.
 */
export class Connection {
  /** Whether it has sent an active token. Until then its requests are served one by one. */
  isTrusted = false;
  private received = 0;
  private isPaced = false;
  /** Read at once: otherwise Node, and Express's `request.ip`, do not know it when the client has left. */
  readonly remoteAddress: string | undefined;
  /** Bytes of memory that it counts as. */
  held = 0;
  // Not a Set: V8 then keeps dead requests alive, as each new table of the Set is referenced by the old one.
  private unanswered: Unanswered[] = [];
  private waiting: (readonly [IncomingMessage, ServerResponse])[] = [];
  /** A docs page is being sent, and takes the place of all other requests. */
  private isOccupied = false;
  /** The connection ends after the answers in progress, and no further request is served. */
  private isEnding = false;

  /**
   * @param bytes that it counts as without requests
   */
  constructor(
    readonly socket: Socket,
    private readonly bytes: number,
    readonly limits: SharedLimits,
    private readonly serve: RequestListener,
  ) {
    (socket as Held)[CONNECTION] = this;
    this.remoteAddress = socket.remoteAddress;
    this.stopParserAtLimit();
    this.hold(this.bytes);
    // Node resumes reading after each body.
    socket.on('resume', () => {
      if (this.hasMaxUnanswered || this.isPaced) socket.pause();
    });
    socket.once('close', () => this.onClose());
  }

  /** Serves a request, and stops reading at the limit. */
  receive(request: IncomingMessage, response: ServerResponse): void {
    boundChunks(request, response);
    const bytes = countBytes(request, this.limits.bodyLimit);
    (request as Counted)[COUNTED] = bytes;
    this.hold(bytes);
    // Shedding may have closed this very connection.
    if (this.socket.destroyed) return;
    this.received += 1;
    // A browser reads the docs page on another connection then; a refused request may be repeated on this one.
    const isLast = !this.isTrusted && this.received >= MAX_UNPACED && !hasBody(request);
    // Node discards the bytes that it has read after an upgrade request: the next ones may be the rest of a body, and
    // must not be read as a request. A header beyond the limit may ask for an upgrade too.
    if (isLast || asksForUpgrade(request) || request.rawHeaders.length > 2 * MAX_FIELDS) {
      this.isEnding = true;
      response.shouldKeepAlive = false;
    }
    if (this.isTrusted || this.unanswered.length === 0) this.serve(request, response);
    else this.waiting.push([request, response]);
    if (this.hasMaxUnanswered) this.socket.pause();
  }

  /** Called when a request has an active token. */
  trust(): void {
    this.isTrusted = true;
    if (this.waiting.length === 0) return;
    for (const next of this.waiting.splice(0)) this.serve(...next);
  }

  /** Registers a request that is being served. */
  register(exchange: Unanswered): void {
    this.unanswered.push(exchange);
  }

  /** The whole request that waits for the next answer on the connection, if there is one. */
  get due(): ServerResponse | undefined {
    const [oldest] = this.unanswered;
    return oldest?.request.complete ? oldest.response : undefined;
  }

  /**
   * Ends it behind this answer if the server is draining, and says so in the answer, unless further requests are served
   * already.
   */
  endIfDraining(response: ServerResponse): void {
    if (!this.limits.isDraining || this.unanswered.at(-1)?.response !== response) return;
    this.isEnding = true;
    response.shouldKeepAlive = false;
  }

  /** Serves no request beside the current one: an unread page then takes one buffer, not sixteen. */
  occupy(): void {
    this.isOccupied = true;
  }

  /** Removes a request whose answer is complete, or whose client has left. */
  unregister(exchange: Unanswered): void {
    this.unanswered.splice(this.unanswered.indexOf(exchange), 1);
    if (this.unanswered.length === 0) this.isOccupied = false;
    const { request } = exchange;
    const bytes = (request as Counted)[COUNTED];
    // Node keeps the request until its body is complete.
    if (request.complete) this.hold(-bytes);
    else request.once('end', () => this.hold(-bytes)).resume();
    // Without a token nothing is served behind a refusal: a refusal takes as much time as a create.
    if (this.waiting.length > 0) this.isEnding = true;
    if (this.socket.destroyed) return;
    if (this.isEnding) {
      if (this.unanswered.length === 0) this.socket.destroySoon();
    } else if (!this.isTrusted && this.received >= MAX_UNPACED) this.pace();
    else if (!this.isAtLimit && this.socket.isPaused()) this.socket.resume();
  }

  private pace(): void {
    this.isPaced = true;
    this.socket.pause();
    setTimeout(() => {
      this.isPaced = false;
      this.socket.resume();
    }, PACE_MS).unref();
  }

  destroy(): void {
    this.socket.destroy();
    this.discount();
  }

  /** Counts its memory no longer. */
  discount(): void {
    this.hold(-this.held);
  }

  /** Bytes of memory that its requests count as. */
  get requestBytes(): number {
    return this.held - this.bytes;
  }

  private get isAtLimit(): boolean {
    const most = this.isTrusted ? MAX_UNANSWERED : MAX_UNTRUSTED;
    return this.isOccupied || this.unanswered.length + this.waiting.length >= most;
  }

  /** Pauses only at this limit: over TLS, Node does not notice that the client of a paused connection has left. */
  private get hasMaxUnanswered(): boolean {
    return this.unanswered.length >= MAX_UNANSWERED;
  }

  /** Node reads up to 64 KiB at a time, which may be more requests than the limit. */
  private stopParserAtLimit(): void {
    // A socket that is still negotiating TLS has no parser.
    const { parser } = this.socket as Socket & { readonly parser?: Parser | null };
    if (!parser) return;
    const { onIncoming } = parser;
    parser.onIncoming = (request, shouldKeepAlive) => {
      if (this.isAtLimit) this.isEnding = true;
      if (this.isEnding && this.unanswered.length === 0) this.socket.destroy();
      if (this.isEnding || this.socket.destroyed) return READ_NO_FURTHER;
      return onIncoming(request, shouldKeepAlive);
    };
  }

  private hold(bytes: number): void {
    // A request may end after its connection was discounted as a whole.
    if (this.held === 0 && bytes < 0) return;
    this.held += bytes;
    this.limits.add(bytes);
  }

  /** Node emits no `close` for answers that are queued behind another one. */
  private onClose(): void {
    this.discount();
    this.waiting = [];
    for (const exchange of [...this.unanswered]) exchange.end();
  }
}

export function getConnection({ socket }: IncomingMessage): Connection {
  return (socket as Held)[CONNECTION];
}

/** Finds the connection of a socket; one that was not accepted yet, or is negotiating TLS, may have none. */
export function findConnection(socket: Duplex): Connection | undefined {
  return (socket as Partial<Held>)[CONNECTION];
}
