import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Requests of one connection that are served at once; beyond them it is not read. */
export const MAX_UNANSWERED = 16;
/**
 * Requests of all connections together that wait behind those: Node has read them in one piece with
 * the others, up to 64 KiB at a time. Some 3 KB each.
 */
const MAX_WAITING = 8_192;
let waiting = 0;

const CONNECTION = Symbol('connection');
type Held = Socket & { [CONNECTION]: Connection };

/** A request that has no whole answer yet. */
interface Unanswered {
  /** It will have none. */
  end(): void;
}

/**
 * A client's connection, and its requests that have no whole answer yet. Node itself reads requests for
 * as long as answers are small, however many wait for theirs (RFC 9112, section 9.3.2, pipelining).
 */
export class Connection {
  private readonly unanswered = new Set<Unanswered>();
  private queue: (readonly [IncomingMessage, ServerResponse])[] = [];
  /** Of what came behind its latest request, Node may have dropped some. */
  private isOver = false;

  /** @param serve is handed the requests, in their order */
  constructor(
    private readonly socket: Socket,
    private readonly serve: RequestListener,
  ) {
    (socket as Held)[CONNECTION] = this;
    // Node goes on to read whenever it has read a body.
    socket.on('resume', () => {
      if (this.isFull) socket.pause();
    });
    socket.once('close', () => this.onClose());
  }

  /** Serves a request once there is room, and reads no further while there is none. */
  receive(request: IncomingMessage, response: ServerResponse): void {
    if (this.isOver) return void this.socket.destroy();
    // No other protocol is spoken here, but Node drops what stands behind such a request in one piece with it: the
    // next bytes could be a body that would be read as a request.
    if (request.headers.upgrade !== undefined) {
      this.isOver = true;
      response.shouldKeepAlive = false;
    }
    if (request.headers['transfer-encoding'] !== undefined) boundChunks(request, response);
    if (!this.isFull) this.serve(request, response);
    else if (waiting < MAX_WAITING) {
      waiting += 1;
      this.queue.push([request, response]);
    } else this.socket.destroy();
    if (this.isFull) this.socket.pause();
  }

  /** A request is served from now on. */
  begin(exchange: Unanswered): void {
    this.unanswered.add(exchange);
  }

  /** A request has its whole answer, or will never have it. */
  end(exchange: Unanswered): void {
    const wasFull = this.isFull;
    this.unanswered.delete(exchange);
    if (!wasFull || this.socket.destroyed) return;
    const next = this.queue.shift();
    if (!next) this.socket.resume();
    else {
      waiting -= 1;
      this.serve(...next);
    }
  }

  private get isFull(): boolean {
    return this.unanswered.size >= MAX_UNANSWERED;
  }

  /** Of answers that stand in line behind another one, Node does not say that their client has left. */
  private onClose(): void {
    waiting -= this.queue.length;
    this.queue = [];
    for (const exchange of this.unanswered) exchange.end();
  }
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
const MAX_SMALL_CHUNKS = 256;
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
    if (chunks > MAX_SMALL_CHUNKS && bytes < MIN_AVERAGE_CHUNK * chunks) request.socket.destroy();
    return push(chunk, encoding);
  };
  // Of a body that nobody has read by now Node would take the rest past that.
  response.prependListener('finish', () => request.on('data', () => undefined));
}
