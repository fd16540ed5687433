import { randomUUID } from 'node:crypto';
import http, { type RequestListener, type ServerOptions } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { Express } from 'express';
import { toAnswer } from '../errors/answer.js';
import { ERRORS } from '../errors/errors.js';
import { Fault } from '../errors/fault.js';
import { answerDueOn } from './connections.js';
import { JSON_HEADERS } from './json-headers.js';
import { messageClasses } from './message-classes.js';

const SECOND = 1_000;
/** How long a client may take, in milliseconds, and how many there may be: docs/operating.md. */
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
const HANDSHAKE_TIMEOUT = 10 * SECOND;
/** Connections at once; each costs some 10 KB, and a body on its way up to BODY_LIMIT. */
const MAX_CONNECTIONS = 10_000;

/** Creates the server under an Express app; what HTTP itself refuses gets an Error body too. */
export function createServer(
  app: Express,
  listener: RequestListener,
  httpsOptions?: https.ServerOptions,
): http.Server {
  const options: ServerOptions = {
    ...messageClasses(app),
    ...LIMITS,
    // Node would refuse a request without Host by itself, with an empty body.
    requireHostHeader: false,
  };
  const server = httpsOptions
    ? https.createServer(
        { ...httpsOptions, ...options, handshakeTimeout: HANDSHAKE_TIMEOUT },
        listener,
      )
    : http.createServer(options, listener);
  server.maxConnections = MAX_CONNECTIONS;
  // Node keeps the address once it was asked for, and cannot tell it of a client that has left.
  server.on(
    httpsOptions ? 'secureConnection' : 'connection',
    (socket: Socket) => socket.remoteAddress,
  );
  // Without these two Node asks for the body at once, or answers 417 with none. `100 Continue` is
  // sent by the one who reads the body, so a client without a token is told before it sends one.
  server.on('checkContinue', listener);
  server.on('checkExpectation', listener);
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => breakOff(socket, code));
  server.on('connect', (_request, socket) => refuse(socket, 'CONNECT'));
  return server;
}

/**
 * Ends a connection whose next bytes are no HTTP. A whole request before them may be on its way into
 * the store, and a 400 would say that it is not: it gets its own answer first.
 */
function breakOff(socket: Duplex, why?: string): void {
  const due = answerDueOn(socket);
  if (!due) {
    refuse(socket, why);
    return;
  }
  if (!due.headersSent) due.setHeader('connection', 'close');
  due.once('close', () => socket.destroy());
}

/**
 * Answers on a socket whose bytes are no HTTP that Node could make a request of.
 *
 * @param why Node's code for it; the bytes themselves are not for the log
 */
function refuse(socket: Duplex, why = 'unknown'): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { body } = toAnswer(new Fault(ERRORS.BAD_REQUEST));
  const text = JSON.stringify(body);
  const requestId = randomUUID();
  const own = ['x-request-id', requestId, 'content-length', `${text.length}`];
  const headers = [...JSON_HEADERS, ...own, 'connection', 'close'];
  const lines = headers.flatMap((name, i) =>
    i % 2 === 0 ? [`${name}: ${headers[i + 1]}\r\n`] : [],
  );
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${text}`);
  // A stranger needs no token for this, so it has no line in the log by default.
  new Logger('Http').debug(`400 to what is no request: ${why}`, { requestId });
}
