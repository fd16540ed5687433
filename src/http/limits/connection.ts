// A create, step 1 of 13: the connection that the request came on hands it to the adapter in its turn.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Request, Response } from 'express';
import { stopReading } from '../node.js';
import { asksForUpgrade, MAX_FIELDS } from '../request-checks.js';
import { countBytes, Reservation, type SharedLimits } from './shared-limits.js';
import { Reading, type Reader } from './reading.js';

/** Requests of one connection that are read and have no complete response. Beyond them the connection is not read. */
export const MAX_REQUESTS = 16;
/** Requests in a row without an active token. The response to the last ends the connection. */
export const MAX_WITHOUT_TOKEN = 16;

/** Milliseconds that a client has to read its last responses, if it has sent more than is read. */
const UNREAD_END_MS = 1_000;

const CONNECTION = Symbol('connection');
type ClientSocket = Socket & { [CONNECTION]: Connection };

export function getConnection({ socket }: IncomingMessage): Connection {
  return (socket as ClientSocket)[CONNECTION];
}

/** Finds the connection of a socket; one that was not accepted yet, or is negotiating TLS, may have none. */
export function findConnection(socket: Duplex): Connection | undefined {
  return (socket as Partial<ClientSocket>)[CONNECTION];
}

/** Handles a request once it is its connection's turn. From then on its response has a context. */
export type HandleRequest = (request: Request, response: Response) => void;

/**
 * A client's connection, its requests, and the memory that they take. In a turn of the event loop one of them is handled:
 * no client has more than its share. Node would read any number of pipelined requests (RFC 9112, section 9.3.2).
 */
export class Connection implements Reader {
  isTrusted = false;
  /** Read at once: otherwise Node, and Express's `request.ip`, do not know it when the client has left. */
  readonly remoteAddress: string | undefined;
  /** When its last request was over, by performance.now(), in milliseconds. */
  private idleSince = Infinity;
  private withoutToken = 0;
  readonly reading: Reading;
  readonly memory: Reservation;
  /** Incomplete ones by arrival: an array, as V8 keeps dead ones alive by a Set's old tables. */
  readonly responses: Response[] = [];
  /** How many of these, the first ones, belong to requests that were handled; the others wait. */
  private handled = 0;
  /** For its next turn. */
  private isWaiting = false;
  /** No further request is read, and the connection ends after the responses in progress. */
  private isEnding = false;
  /** A further request has come: nothing more is read. */
  private isDone = false;

  /**
   * @param bytes that it counts as without requests
   * @param wire that was accepted, if the socket speaks TLS on it
   */
  constructor(
    readonly socket: Socket,
    bytes: number,
    readonly limits: SharedLimits,
    private readonly handle: HandleRequest,
    wire?: Socket,
  ) {
    (socket as ClientSocket)[CONNECTION] = this;
    this.reading = new Reading(socket, this, wire);
    this.remoteAddress = socket.remoteAddress;
    this.memory = new Reservation(bytes, limits);
    // Node resumes reading after each body.
    socket.on('resume', () => {
      if (!this.mayRead) stopReading(socket);
    });
    socket.once('close', () => this.onClose());
  }

  /** Handles a request, or has it wait for the connection's turn. */
  receive(request: Request, response: Response): void {
    request.memoryBytes = countBytes(request, this.limits.bodyLimit);
    this.memory.reserve(request.memoryBytes);
    // Eviction may have closed this very connection.
    if (this.socket.destroyed) return;
    this.reading.addRequest();
    this.withoutToken += 1;
    // Node discards the bytes that it has read after an upgrade request: the next ones may be the rest of a body, and
    // must not be read as a request. A header beyond the limit may ask for an upgrade too.
    if (asksForUpgrade(request) || request.rawHeaders.length > 2 * MAX_FIELDS) {
      this.isEnding = true;
      response.shouldKeepAlive = false;
    }
    this.responses.push(response);
    if (this.limits.turns.isOver) this.awaitNextTurn();
    else if (!this.isWaiting) this.handleNext();
    if (!this.mayRead) stopReading(this.socket);
  }

  /** Reads on, and handles the request that waits longest: called once in a turn of the event loop. */
  takeTurn(): void {
    this.isWaiting = false;
    this.reading.beginTurn();
    if (this.mayRead && this.socket.isPaused()) this.socket.resume();
    this.handleNext();
  }

  /** Called when a request has an active token. */
  trust(): void {
    this.isTrusted = true;
    this.withoutToken = 0;
    this.reading.forgive();
  }

  /** Removes the response to a request that was handled: it is complete, or its client has left. */
  remove(response: Response): void {
    const { req: request } = response;
    this.responses.splice(this.responses.indexOf(response), 1);
    this.handled -= 1;
    // Node keeps the request until its body is complete.
    if (request.complete) this.memory.release(request.memoryBytes);
    else request.once('end', () => this.memory.release(request.memoryBytes)).resume();
    if (this.socket.destroyed) return;
    this.idleSince = performance.now();
    if (this.isEnding && this.isIdle) this.end();
    else if (this.mayRead && this.socket.isPaused()) this.socket.resume();
    if (!this.isWaiting) this.handleNext();
  }

  /** The next response on the connection, if its request is whole. */
  get due(): ServerResponse | undefined {
    const [next] = this.responses;
    return next?.req.complete ? next : undefined;
  }

  /** Whether a response is the last: a drain has begun, or there were too many requests without an active token. */
  isLast(response: ServerResponse): boolean {
    const isFull = this.withoutToken >= MAX_WITHOUT_TOKEN || this.limits.isDraining;
    return isFull && this.responses.at(-1) === response;
  }

  /** Ends the connection behind a response that is the last, and says so in it. */
  endIfLast(response: ServerResponse): void {
    if (!this.isLast(response)) return;
    this.isEnding = true;
    response.shouldKeepAlive = false;
  }

  admits(): boolean {
    if (this.isAtLimit) this.isEnding = true;
    if (this.isEnding && this.isIdle) this.socket.destroy();
    if (!this.isEnding) return !this.socket.destroyed;
    this.isDone = true;
    stopReading(this.socket);
    return false;
  }

  awaitNextTurn(): void {
    if (!this.mayRead) stopReading(this.socket);
    if (!this.isWaiting) this.limits.turns.await(this);
    this.isWaiting = true;
  }

  get isIdle(): boolean {
    return this.responses.length === 0;
  }

  /** Whether the request that is being read has its response already. */
  get hasResponded(): boolean {
    return this.isIdle && this.reading.isInBody;
  }

  /** @returns whether it had no request for some milliseconds, whatever bytes have come */
  isIdleFor(milliseconds: number): boolean {
    return this.isIdle && performance.now() - this.idleSince > milliseconds;
  }

  destroy(): void {
    this.socket.destroy();
    this.memory.release();
  }

  private handleNext(): void {
    const next = this.responses[this.handled];
    if (!next) return;
    this.handled += 1;
    this.awaitNextTurn();
    this.handle(next.req, next);
  }

  private end(): void {
    // With bytes unread that would reset the connection, and the client could lose its last responses.
    if (!this.isDone) {
      this.socket.destroySoon();
      return;
    }
    this.socket.end();
    setTimeout(() => this.socket.destroy(), UNREAD_END_MS).unref();
  }

  private get mayRead(): boolean {
    return !this.isAtLimit && !this.isDone && !this.reading.isFull;
  }

  private get isAtLimit(): boolean {
    return this.responses.length >= MAX_REQUESTS;
  }

  /** Node emits no `close` for responses that are queued behind another one. */
  private onClose(): void {
    this.memory.release();
    this.responses.length = this.handled;
    for (const { context } of [...this.responses]) context.end();
  }
}
