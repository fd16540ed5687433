import { randomUUID } from 'node:crypto';
import { maxHeaderSize, STATUS_CODES, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { finished, type Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import { closeGently, type Connections } from './connections.js';
import { sendError } from './error.filter.js';

export const MAX_FIELDS = 100;
export const HEADERS_TOO_LONG = new ApiException(
  ERRORS.BAD_REQUEST,
  `the headers are too long: at most ${MAX_FIELDS} fields and ${maxHeaderSize} bytes`,
);
const EXCEPTIONS: Readonly<Record<string, ApiException>> = {
  HPE_HEADER_OVERFLOW: HEADERS_TOO_LONG,
  ERR_HTTP_REQUEST_TIMEOUT: new ApiException(ERRORS.REQUEST_TIMEOUT),
};

/** Sends an Error body for what Node rejects itself: invalid HTTP and late requests. */
export function respondToClientErrors(server: Server, connections: Connections): void {
  const rejected = new WeakSet<Duplex>();
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket) => {
    // Node reports each further piece of an invalid request too.
    if (rejected.has(socket)) return;
    rejected.add(socket);
    if (code.startsWith('HPE_') || code in EXCEPTIONS) reject(socket as Socket, code, connections);
    // The connection broke, or its TLS handshake failed.
    else socket.destroy();
  });
}

function reject(socket: Socket, code: string, connections: Connections): void {
  const exception = EXCEPTIONS[code] ?? new ApiException(ERRORS.BAD_REQUEST);
  const last = connections
    .listInProgress(socket)
    .findLast(({ request, response }) => !request.complete || !response.writableFinished);
  // A socket that is not writable is already closing after a response, which an end would cut off.
  if (!last && socket.writable) sendRawError(socket, exception, code);
  if (!last) return;
  const { request, response } = last;
  if (!response.headersSent) {
    response.setHeader('connection', 'close');
    // A whole request may already be stored, so it gets its own response, as does one that is refused already.
    if (!request.complete && last.error === undefined) {
      last.fail(exception);
      sendError(response, exception);
    }
  }
  finished(response, () => socket.destroySoon());
}

function sendRawError(socket: Socket, { kind, message }: ApiException, code: string): void {
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
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  closeGently(socket);
  // The level is debug, and the bytes are left out: every client can cause this at will.
  new Logger('Http').debug(`rejected bytes that are not a request: ${kind.status}, ${code}`, {
    requestId,
  });
}
