import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Requests of one connection that are served at once; beyond them it is not read. */
export const MAX_UNANSWERED = 16;
/** The same while no token is active on it: one is served, the others wait. */
const MAX_UNTRUSTED = 4;

/** Header fields of a request. */
export const MAX_FIELDS = 100;

/**
 * Bytes of memory that a connection is counted as: its socket and parser, and a head that is still incoming, of
 * {@link MAX_FIELDS} fields in 16 KiB. Measured on Node 26: 3 to 5 KB idle, 21 to 25 KB with such a head; over
 * TLS up to 80 KB more outside the heap, which is half of the memory at most (see `docs/operating.md`).
 */
const CONNECTION_BYTES = 24 * 1024;
const TLS_BYTES = 24 * 1024;
/** The same of a request with its answer: 5 to 14 KB, and for each name and value of a header besides its text. */
const REQUEST_BYTES = 12 * 1024;
const FIELD_BYTES = 64;

const CONNECTION = Symbol('connection');
type Held = Socket & { [CONNECTION]: Connection };

/** Node's own parser of a connection; what is told of each request's head says what becomes of its body. */
interface Parser {
  onIncoming: (request: IncomingMessage, shouldKeepAlive: boolean) => number;
}
/** No body, and nothing of what is behind it in one piece with it: up to 64 KiB of requests, each of them 6 µs. */
const READ_NO_FURTHER = 2;

/** A request that has no whole answer yet. */
interface Unanswered {
  readonly request: IncomingMessage;
  /** It will have none. */
  end(): void;
}

/** Told of the memory that connections hold. */
export interface MemoryAccount {
  /** Bytes of a request's body that are kept at most. */
  readonly bodyLimit: number;
  readonly isTls: boolean;
  /** A connection holds so many bytes more, or less. */
  add(bytes: number): void;
}

/**
 * A client's connection, its requests that have no whole answer yet, and the memory that they hold. Node itself
 * reads requests for as long as answers are small, however many wait for theirs (RFC 9112, section 9.3.2,
 * pipelining).
 */
export class Connection {
  /** Whether a request of it had an active token. Until then its requests are served one by one. */
  isTrusted = false;
  /** Bytes of memory that it is counted as. */
  held = 0;
  // An array: a Set whose entries come and go has V8 promote dead requests.
  private unanswered: Unanswered[] = [];
  private waiting: (readonly [IncomingMessage, ServerResponse])[] = [];
  /** An answer is served that stands for all the others that it might serve. */
  private isFilled = false;
  /** Ends once what is served is answered: nothing behind that is served. */
  private isOver = false;

  /** @param serve is handed the requests, in their order */
  constructor(
    readonly socket: Socket,
    private readonly account: MemoryAccount,
    private readonly serve: RequestListener,
  ) {
    (socket as Held)[CONNECTION] = this;
    this.stopParserWhenFull();
    this.hold(CONNECTION_BYTES + (account.isTls ? TLS_BYTES : 0));
    // Node goes on to read whenever it has read a body.
    socket.on('resume', () => {
      if (this.isFull || this.waiting.length > 0) socket.pause();
    });
    socket.once('close', () => this.onClose());
  }

  /** Serves a request, and reads no further while there are as many as there may be. */
  receive(request: IncomingMessage, response: ServerResponse): void {
    this.hold(this.bytesOf(request));
    if (this.socket.destroyed) return;
    // No other protocol is spoken here, but Node drops what stands behind such a request in one piece with it: the
    // next bytes could be a body that would be read as a request. Beyond the most fields one may ask for it as well.
    if (asksForUpgrade(request) || request.rawHeaders.length > 2 * MAX_FIELDS) {
      this.isOver = true;
      response.shouldKeepAlive = false;
    }
    if (request.headers['transfer-encoding'] !== undefined) boundChunks(request, response);
    if (this.isTrusted || this.unanswered.length === 0) this.serve(request, response);
    else this.waiting.push([request, response]);
    if (this.isFull || this.waiting.length > 0) this.socket.pause();
  }

  /** A request of it has an active token. */
  trust(): void {
    this.isTrusted = true;
    for (const next of this.waiting.splice(0)) this.serve(...next);
  }

  /** A request is served from now on. */
  begin(exchange: Unanswered): void {
    this.unanswered.push(exchange);
  }

  /** Serves nothing beside what is served now: a long answer that is not read takes one buffer, not sixteen. */
  fill(): void {
    this.isFilled = true;
  }

  /** A request has its whole answer, or will never have it. */
  end(exchange: Unanswered): void {
    const at = this.unanswered.indexOf(exchange);
    if (at < 0) return;
    this.unanswered.splice(at, 1);
    if (this.unanswered.length === 0) this.isFilled = false;
    const { request } = exchange;
    // Node keeps a request until the end of its body.
    if (request.complete) this.hold(-this.bytesOf(request));
    else request.once('end', () => this.hold(-this.bytesOf(request)));
    // Without a token nothing is served behind what was refused: it takes as long as a create.
    if (this.waiting.length > 0) this.isOver = true;
    if (this.socket.destroyed) return;
    if (this.isOver) {
      if (this.unanswered.length === 0) this.socket.destroySoon();
    } else if (!this.isFull && this.socket.isPaused()) this.socket.resume();
  }

  /** Cuts the client off. */
  destroy(): void {
    this.socket.destroy();
    this.discount();
  }

  /** Its memory counts no more. */
  discount(): void {
    this.hold(-this.held);
  }

  private get isFull(): boolean {
    const most = this.isTrusted ? MAX_UNANSWERED : MAX_UNTRUSTED;
    return this.isFilled || this.unanswered.length + this.waiting.length >= most;
  }

  /** Node has read more requests in one piece with the others. */
  private stopParserWhenFull(): void {
    // Over TLS the socket that was accepted has none.
    const { parser } = this.socket as Socket & { readonly parser?: Parser | null };
    if (!parser) return;
    const { onIncoming } = parser;
    parser.onIncoming = (request, shouldKeepAlive) => {
      if (this.isFull) this.isOver = true;
      if (this.isOver && this.unanswered.length === 0) this.socket.destroy();
      if (this.isOver || this.socket.destroyed) return READ_NO_FURTHER;
      return onIncoming(request, shouldKeepAlive);
    };
  }

  private hold(bytes: number): void {
    // What ends after the connection was counted out with it.
    if (this.held === 0 && bytes < 0) return;
    this.held += bytes;
    this.account.add(bytes);
  }

  /** What a request is counted as until it is answered and read to its end. */
  private bytesOf({ headers, rawHeaders, url = '' }: IncomingMessage): number {
    const { 'content-length': length, 'transfer-encoding': coding } = headers;
    const body = coding === undefined ? Number(length ?? 0) : Infinity;
    let bytes = REQUEST_BYTES + url.length + Math.min(body, this.account.bodyLimit);
    for (const text of rawHeaders) bytes += text.length + FIELD_BYTES;
    return bytes;
  }

  /** Of answers that stand in line behind another one, Node does not say that their client has left. */
  private onClose(): void {
    this.discount();
    for (const exchange of [...this.unanswered]) exchange.end();
  }
}

/** Whether another protocol is asked for (RFC 9110, section 7.8): both headers say so, or it is none. */
function asksForUpgrade({ headers: { connection, upgrade } }: IncomingMessage): boolean {
  return upgrade !== undefined && /\bupgrade\b/i.test(connection ?? '');
}

/** The connection that a request came in on. */
export function connectionOf({ socket }: IncomingMessage): Connection {
  return (socket as Held)[CONNECTION];
}

/** The answer that a connection's whole request still waits for, if there is one. */
export function answerDueOn(socket: Duplex): ServerResponse | undefined {
  // Node's own field for the answer in progress; its own handler of client errors looks there too.
  const { _httpMessage: answer } = socket as Duplex & { _httpMessage?: ServerResponse | null };
  return answer?.req.complete ? answer : undefined;
}

/** Chunks of a body that may be of any size, and the bytes that further ones must have on average. */
const MAX_SMALL_CHUNKS = 64;
const MIN_AVERAGE_CHUNK = 256;

/**
 * Ends the connection of a body (RFC 9112, section 7.1) whose chunks are so small that they are an attack:
 * however little is in one, six bytes on the wire say, it takes 390 bytes until it is read, and 5 µs.
 */
function boundChunks(request: IncomingMessage, response: ServerResponse): void {
  let chunks = 0;
  let bytes = 0;
  const push = request.push.bind(request);
  // Node hands over each chunk by this, whether the body is read or not.
  request.push = (chunk: Buffer | null, encoding) => {
    chunks += 1;
    bytes += chunk?.length ?? 0;
    if (bytes < MIN_AVERAGE_CHUNK * (chunks - MAX_SMALL_CHUNKS)) request.socket.destroy();
    return push(chunk, encoding);
  };
  // Of a body that nobody has read by now Node would take the rest past that.
  response.prependListener('finish', () => request.on('data', () => undefined));
}
