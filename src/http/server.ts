import http, { type RequestListener, type ServerOptions } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import { rejectMalformed } from './answer.js';
import { MAX_FIELDS } from './request.js';

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
/** To agree on TLS. */
const HANDSHAKE_TIMEOUT_MS = 10 * SECOND;
/** To read some of an answer; longer than a request waits for the store. */
const UNREAD_TIMEOUT_MS = 75 * SECOND;
/** Between two lines in the log about connections that were not accepted. */
const ACCEPT_LOG_INTERVAL_MS = 10 * SECOND;

/** Creates the server; what HTTP itself refuses gets an Error body too. */
export function createServer(
  listener: RequestListener,
  httpsOptions?: https.ServerOptions,
): http.Server {
  const options: ServerOptions = {
    ...LIMITS,
    // Node would refuse a request without Host by itself, with an empty body.
    requireHostHeader: false,
  };
  // http.Server sets allowHalfOpen by itself.
  const overTls = { handshakeTimeout: HANDSHAKE_TIMEOUT_MS, allowHalfOpen: true };
  const server = httpsOptions
    ? https.createServer({ ...httpsOptions, ...options, ...overTls }, listener)
    : http.createServer(options, listener);
  // Asking makes Node keep the client's address, which it does not know any more when the client has left.
  server.on(
    httpsOptions ? 'secureConnection' : 'connection',
    (socket: Socket) => socket.remoteAddress,
  );
  // Without these listeners Node asks for the body at once, or answers 417 without an Error body. readJson() sends
  // `100 Continue`, so a client without a token gets its 401 before it sends a body.
  server.on('checkContinue', listener);
  server.on('checkExpectation', listener);
  for (const event of ['connection', 'secureConnection']) server.on(event, ignoreErrors);
  const rejected = new WeakSet<Duplex>();
  // Node reports every further chunk of an invalid request, too.
  const rejectOnce = (socket: Duplex, why?: string): void => {
    if (rejected.has(socket)) return;
    rejected.add(socket);
    ignoreErrors(socket);
    rejectMalformed(socket, why);
  };
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => rejectOnce(socket, code));
  server.on('connect', (_request, socket) => rejectOnce(socket, 'CONNECT'));
  server.timeout = UNREAD_TIMEOUT_MS;
  // Node discards the headers beyond this number silently: one more than allowed shows that there are too many.
  server.maxHeadersCount = MAX_FIELDS + 1;
  // A client that has sent its request may close its side, and still read the answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  surviveAcceptErrors(server);
  return server;
}

/**
 * Logs connections that cannot be accepted, because of EMFILE for example, instead of ending the process. The caller
 * handles the error of a server that does not listen yet.
 */
export function surviveAcceptErrors(server: http.Server): void {
  let loggedAt = -Infinity;
  server.on('error', (error) => {
    if (!server.listening || performance.now() - loggedAt < ACCEPT_LOG_INTERVAL_MS) return;
    loggedAt = performance.now();
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
