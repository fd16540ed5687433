import http, {
  type IncomingMessage,
  type RequestListener,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { Express } from 'express';
import { MAX_FIELDS } from './connection.js';
import { rejectMalformed } from './malformed.js';

const SECOND = 1_000;
/** How long a client may take, in milliseconds (docs/configuration.md, "Limits"). */
const LIMITS = {
  /** From the first byte of a request, or the connection itself, to the end of the headers. */
  headersTimeout: 10 * SECOND,
  /** To the end of the body. */
  requestTimeout: 30 * SECOND,
  /** From an answer to the next request: longer than proxies keep an idle connection, mostly 60 s. */
  keepAliveTimeout: 75 * SECOND,
  /** How often Node looks for clients that are too slow. */
  connectionsCheckingInterval: SECOND,
} satisfies ServerOptions;
/** For a client to agree with us on TLS, in milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 10 * SECOND;
/** For a client to read some of an answer, in milliseconds; longer than a request waits for the store. */
const UNREAD_TIMEOUT_MS = 75 * SECOND;
/** Between two lines in the log on connections that cannot be accepted, in milliseconds. */
const ACCEPT_LOG_INTERVAL_MS = 10 * SECOND;

/** Chunks of a body that may be of any size, and the bytes that further ones must have on average. */
const MAX_SMALL_CHUNKS = 64;
const MIN_AVERAGE_CHUNK = 256;
/** Bytes of a body that are few enough to come one by one. */
const SHORT_BODY = 1_024;

function isLong({ headers }: IncomingMessage): boolean {
  return (
    headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > SHORT_BODY
  );
}

/**
 * Ends the connection of a body whose chunks (RFC 9112, section 7.1), or records of TLS, are so small that they are
 * an attack: however little is in one, six bytes on the wire say, it takes 390 bytes until it is read, and 5 µs.
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

/** Creates the server of an Express app; what HTTP itself refuses gets an Error body too. */
export function createServer(
  app: Express,
  handle: RequestListener,
  httpsOptions?: https.ServerOptions,
): http.Server {
  const listener: RequestListener = (request, response) => {
    if (isLong(request)) boundChunks(request, response);
    handle(request, response);
  };
  const options: ServerOptions = {
    ...LIMITS,
    ...messageClasses(app),
    // Node would refuse a request without Host by itself, with an empty body.
    requireHostHeader: false,
  };
  const server = httpsOptions
    ? https.createServer(
        {
          ...httpsOptions,
          ...options,
          handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
          // http.Server sets it by itself.
          allowHalfOpen: true,
        },
        listener,
      )
    : http.createServer(options, listener);
  // Node keeps the address once it was asked for, and cannot tell it of a client that has left.
  server.on(
    httpsOptions ? 'secureConnection' : 'connection',
    (socket: Socket) => socket.remoteAddress,
  );
  // Without these two Node asks for the body at once, or answers 417 with none. `100 Continue` is
  // sent by the one who reads the body, so a client without a token is told before it sends one.
  server.on('checkContinue', listener);
  server.on('checkExpectation', listener);
  for (const event of ['connection', 'secureConnection']) server.on(event, ignoreErrors);
  const rejected = new WeakSet<Duplex>();
  // Node tells of each further piece that a client sends, too.
  const rejectOnce = (socket: Duplex, why?: string): void => {
    if (rejected.has(socket)) return;
    rejected.add(socket);
    ignoreErrors(socket);
    rejectMalformed(socket, why);
  };
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => rejectOnce(socket, code));
  server.on('connect', (_request, socket) => rejectOnce(socket, 'CONNECT'));
  server.timeout = UNREAD_TIMEOUT_MS;
  // Node drops those past this number without a word, so one more than may be shows that there are too many.
  server.maxHeadersCount = MAX_FIELDS + 1;
  // A client that has sent its request may close its side, and still read the answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  survive(server);
  return server;
}

/**
 * Requests and answers that have Express's prototypes from the start: Express changes those of each
 * (expressjs/express#5998), and a create then takes 1.06 times the CPU time on Node 26, 1.05 on 24
 * (medians of 5 and 3 starts, each 10 interleaved rounds of 2 s).
 */
function messageClasses(app: Express): ServerOptions {
  class Request extends http.IncomingMessage {}
  class Response extends http.ServerResponse {}
  app.request = Object.setPrototypeOf(Request.prototype, app.request) as typeof app.request;
  app.response = Object.setPrototypeOf(Response.prototype, app.response) as typeof app.response;
  return { IncomingMessage: Request, ServerResponse: Response as typeof http.ServerResponse };
}

/**
 * A connection that cannot be accepted, for want of file descriptors say (EMFILE), is no reason to end.
 * The error of a server that does not listen yet is handled by its caller.
 */
export function survive(server: http.Server): void {
  let loggedAt = -Infinity;
  server.on('error', (error) => {
    if (!server.listening || performance.now() - loggedAt < ACCEPT_LOG_INTERVAL_MS) return;
    loggedAt = performance.now();
    new Logger('Http').error(`a connection was not accepted: ${error.message}`);
  });
}

/**
 * An error of a socket that nobody listens to ends the process, and Node takes its own listener away
 * from a socket that it hands over. What is to be done at an error is done when the socket closes.
 */
function ignoreErrors(socket: Duplex): void {
  socket.on('error', () => undefined);
}
