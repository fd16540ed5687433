import { randomUUID } from 'node:crypto';
import { maxHeaderSize, STATUS_CODES, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import type { Connections } from './connections.js';
import { MAX_FIELDS } from './request-checks.js';

const { BAD_REQUEST, REQUEST_TIMEOUT } = ERRORS;
/** By the code of Node's error. */
const EXCEPTIONS: Readonly<Record<string, ApiException>> = {
  HPE_HEADER_OVERFLOW: new ApiException(
    BAD_REQUEST,
    `the headers are too long: at most ${MAX_FIELDS} fields and ${maxHeaderSize} bytes`,
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new ApiException(
    REQUEST_TIMEOUT,
    `${REQUEST_TIMEOUT.message}: its headers have 10 s, all of it 30 s`,
  ),
};
const INVALID_HTTP = new ApiException(BAD_REQUEST);

/** How long a client may take to read the response and to close its side of the connection. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Sends an Error body for what Node rejects itself: invalid HTTP, late requests, and CONNECT. */
export function respondToClientErrors(server: Server, connections: Connections): void {
  const rejected = new WeakSet<Duplex>();
  const reject = (socket: Duplex, code: string): void => {
    // Node reports each further piece of an invalid request too.
    if (rejected.has(socket)) return;
    rejected.add(socket);
    // Node removes its own listeners from a socket that it hands over; without one, an error would end the process.
    socket.on('error', () => undefined).on('timeout', () => socket.destroy());
    // A refused request is still listed when the end of its body and the invalid bytes arrive together.
    const requests = connections
      .listInProgress(socket)
      .filter(({ request, response }) => !request.complete || !response.writableFinished);
    const whole = requests.findLast(({ request }) => request.complete)?.response;
    if (whole) {
      // The request may already be stored, so it gets its own response.
      if (!whole.headersSent) whole.setHeader('connection', 'close');
      whole.once('close', () => socket.destroy());
    } else if (socket.writable && !requests.some(({ response }) => response.headersSent))
      sendRawError(socket, code);
    else socket.destroy();
  };
  server.on('connect', (_request, socket) => reject(socket, 'CONNECT'));
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket) => {
    if (code.startsWith('HPE_') || code in EXCEPTIONS) reject(socket, code);
    // The connection broke, or never agreed on TLS.
    else socket.destroy();
  });
}

function sendRawError(socket: Duplex, code: string): void {
  const { kind, message } = EXCEPTIONS[code] ?? INVALID_HTTP;
  const requestId = randomUUID();
  const body = JSON.stringify({ error: kind.error, message });
  const head = [
    `HTTP/1.1 ${kind.status} ${STATUS_CODES[kind.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // A client that never closes its side would keep the connection open forever.
  setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref();
  // Unauthenticated clients can cause this at will: it is logged at debug, and without the bytes.
  new Logger('Http').debug(`rejected bytes that are not a request: ${kind.status}, ${code}`, {
    requestId,
  });
}
