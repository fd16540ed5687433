// A create, step 1 of 13: Node's server reads the request, or refuses what is not HTTP.
import { randomUUID } from 'node:crypto';
import http, { maxHeaderSize, type ServerOptions } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import { ERRORS, ApiException } from '../errors/error-codes.js';
import { createThrottle } from '../errors/availability-log.js';
import { toErrorResponse } from './error.filter.js';
import { findConnection } from './limits/connection.js';
import { allowHalfOpen } from './node.js';
import { formatResponse, type MessageClasses } from './response.js';
import { MAX_FIELDS } from './request-checks.js';

const SECOND = 1_000;
/** How long a client may take, in milliseconds (docs/configuration.md, "Limits"). */
const LIMITS = {
  /** From the first byte of a request, or the connection itself, to the end of the headers. */
  headersTimeout: 10 * SECOND,
  /** To the end of the body. */
  requestTimeout: 30 * SECOND,
  /** From a response to the next request: longer than proxies keep an idle connection, mostly 60 s. */
  keepAliveTimeout: 75 * SECOND,
  /** How often Node looks for clients that are too slow. */
  connectionsCheckingInterval: SECOND,
} satisfies ServerOptions;
/** To agree on TLS. */
const HANDSHAKE_TIMEOUT_MS = 10 * SECOND;
/** To read some of a response; longer than a request waits for the store. */
const UNREAD_TIMEOUT_MS = 75 * SECOND;

/** Milliseconds that a client has to read the response and to close its side of the connection. */
const CLOSE_TIMEOUT_MS = 1_000;

const INVALID_HTTP = new ApiException(ERRORS.BAD_REQUEST);
const LONG_HEADERS = new ApiException(
  ERRORS.BAD_REQUEST,
  `the headers are too long: at most ${MAX_FIELDS} fields and ${maxHeaderSize} bytes`,
);
const LATE = new ApiException(
  ERRORS.REQUEST_TIMEOUT,
  `${ERRORS.REQUEST_TIMEOUT.message}: its headers have ${LIMITS.headersTimeout / SECOND} s, all of it ${LIMITS.requestTimeout / SECOND} s`,
);

/** Creates the server; what HTTP itself refuses gets an Error body too. */
export function createServer(
  messages: MessageClasses,
  httpsOptions?: https.ServerOptions,
): http.Server {
  // Node would refuse a request without Host by itself, with an empty body.
  const options: ServerOptions = { ...LIMITS, ...messages, requireHostHeader: false };
  // http.Server sets allowHalfOpen by itself.
  const overTls = { handshakeTimeout: HANDSHAKE_TIMEOUT_MS, allowHalfOpen: true };
  const server = httpsOptions
    ? https.createServer({ ...httpsOptions, ...options, ...overTls })
    : http.createServer(options);
  for (const event of ['connection', 'secureConnection']) server.on(event, ignoreErrors);
  const rejected = new WeakSet<Duplex>();
  // Node reports every further chunk of an invalid request, too.
  const rejectOnce = (socket: Duplex, why = 'unknown', exception = INVALID_HTTP) => {
    if (rejected.has(socket)) return;
    rejected.add(socket);
    ignoreErrors(socket);
    // Of a socket that Node hands over, it removes its own listener of this event too.
    socket.once('timeout', () => socket.destroy());
    reject(socket, exception, why);
  };
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    // The end of a handshake may have arrived while the service stood still.
    if (code === 'ERR_TLS_HANDSHAKE_TIMEOUT')
      setImmediate(() => findConnection(socket) ?? socket.destroy());
    else if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
      findConnection(socket)?.reading.unlessArrived(() => rejectOnce(socket, code, LATE));
    else rejectOnce(socket, code, code === 'HPE_HEADER_OVERFLOW' ? LONG_HEADERS : INVALID_HTTP);
  });
  server.on('connect', (_request, socket) => rejectOnce(socket, 'CONNECT'));
  server.timeout = UNREAD_TIMEOUT_MS;
  server.on('timeout', destroyIfIdle);
  // Node discards the headers beyond this number silently: one more than allowed shows that there are too many.
  server.maxHeadersCount = MAX_FIELDS + 1;
  allowHalfOpen(server);
  surviveAcceptErrors(server);
  return server;
}

/**
 * Logs connections that cannot be accepted, because of EMFILE for example, instead of ending the process. The caller
 * handles the error of a server that does not listen yet.
 */
export function surviveAcceptErrors(server: http.Server): void {
  const mayLog = createThrottle();
  server.on('error', (error) => {
    if (!server.listening || !mayLog()) return;
    new Logger('Http').error(`a connection was not accepted: ${error.message}`);
  });
}

/**
 * Without a listener an error of a socket ends the process, and Node removes its own from a socket that it hands over.
 * Cleaning up happens when the socket closes.
 */
function ignoreErrors(socket: Duplex): void {
  socket.on('error', () => undefined);
}

/** Ends a connection that has been idle too long, unless bytes had arrived while the service stood still. */
function destroyIfIdle(socket: Socket): void {
  const { bytesRead } = socket;
  setImmediate(() => {
    if (socket.bytesRead === bytesRead) socket.destroy();
  });
}

/**
 * Ends a connection whose next bytes are no HTTP, or late. A whole request before them may be on its way to the store,
 * and a refusal would say that it is not: it gets its own response first. Further ones get none, as when a connection
 * breaks.
 *
 * @param why Node's code for it; the bytes themselves are not for the log
 */
function reject(socket: Duplex, exception: ApiException, why: string): void {
  const { due, hasResponded = false } = findConnection(socket) ?? {};
  if (due) {
    if (!due.headersSent) due.setHeader('connection', 'close');
    due.once('close', () => socket.destroy());
  } else if (hasResponded || !socket.writable) socket.destroy();
  else {
    const requestId = randomUUID();
    const { status, body } = toErrorResponse(exception);
    socket.end(formatResponse(socket, requestId, status, body));
    // A client that never closes its side would keep the connection open forever.
    setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref();
    // Anyone can cause this without a token, so it has no line in the log by default.
    new Logger('Http').debug(`${status} to what is no request: ${why}`, { requestId });
  }
}
