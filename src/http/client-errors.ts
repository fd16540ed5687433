import { randomUUID } from 'node:crypto';
import { maxHeaderSize, STATUS_CODES, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { Request, RequestHandler } from 'express';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import type { Connections } from './connections.js';
import type { RequestContext } from './request-context.js';

export const MAX_FIELDS = 100;

const { BAD_REQUEST, REQUEST_TIMEOUT } = ERRORS;
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
    const broken = requests.at(-1);
    if (whole) {
      // The request may already be stored, so it gets its own response.
      if (!whole.headersSent) whole.setHeader('connection', 'close');
      whole.once('close', () => socket.destroy());
    } else if (broken?.response.headersSent) socket.destroy();
    // A socket that is not writable already closes after a response, which destroy() would cut off.
    else if (socket.writable) sendRawError(socket, code, broken);
  };
  server.on('connect', (_request, socket) => reject(socket, 'CONNECT'));
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket) => {
    if (code.startsWith('HPE_') || code in EXCEPTIONS) reject(socket, code);
    // The connection broke, or never agreed on TLS.
    else socket.destroy();
  });
}

/** @param context of a request whose body is late or malformed */
function sendRawError(socket: Duplex, code: string, context?: RequestContext): void {
  const exception = EXCEPTIONS[code] ?? INVALID_HTTP;
  const { kind, message } = exception;
  const { requestId = randomUUID() } = context ?? {};
  context?.fail(exception, kind.status);
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
  // At debug, and without the bytes: everyone can cause it at will.
  new Logger('Http').debug(`rejected bytes that are not a request: ${kind.status}, ${code}`, {
    requestId,
  });
}

/** Headers of which Node uses the first, and a proxy perhaps the last (RFC 9112, section 3.2; RFC 9110, section 5.3). */
const SINGLE_HEADERS = ['Host', 'Authorization', 'Content-Type'];

/** A host, empty too, and a port (RFC 9110, section 7.2; RFC 3986, section 3.2.2). */
const HOST = /^(\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(:\d*)?$/i;

/** Finds an error in a request that Node's parser accepts; undefined if there is none. */
function findRequestError(request: Request): string | undefined {
  const { headers, headersDistinct, httpVersion, rawHeaders, url } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return ERRORS.BAD_REQUEST.message;
  if (rawHeaders.length > 2 * MAX_FIELDS) return `there are more than ${MAX_FIELDS} header fields`;
  if (headers.host === undefined && httpVersion === '1.1') return 'the Host header is missing';
  if (!HOST.test(headers.host ?? '')) return 'the Host header is malformed';
  for (const name of SINGLE_HEADERS) {
    const values = headersDistinct[name.toLowerCase()] ?? [];
    if (values.length > 1) return `there is more than one ${name} header`;
  }
  // RFC 9112, section 6.1: HTTP/1.0 has no transfer codings, and a proxy may not see them.
  if (headers['transfer-encoding'] !== undefined && httpVersion === '1.0')
    return 'HTTP/1.0 has no Transfer-Encoding';
  return isDecodable(url) && !url.includes('#') ? undefined : 'the path is malformed';
}

function isDecodable(url: string): boolean {
  try {
    return !url.includes('%') || decodeURIComponent(url.split('?', 1)[0] ?? '') !== '';
  } catch {
    return false;
  }
}

/** Creates the middleware that refuses invalid requests, and all requests while the service stops or is overloaded. */
export function createChecks(
  connections: Connections,
  isOverloaded: () => boolean,
): RequestHandler {
  return (request, response, next) => {
    const { connection, upgrade, 'transfer-encoding': coding = 'chunked' } = request.headers;
    // Node drops bytes after an Upgrade request, so the connection must close.
    if (upgrade !== undefined && /\bupgrade\b/i.test(connection ?? ''))
      response.setHeader('connection', 'close');
    if (connections.phase === 'refusing') throw new ApiException(ERRORS.SHUTTING_DOWN);
    if (isOverloaded()) throw new ApiException(ERRORS.OVERLOADED);
    const error = findRequestError(request);
    if (error) throw new ApiException(ERRORS.BAD_REQUEST, error);
    if (coding.toLowerCase() !== 'chunked') throw new ApiException(ERRORS.NO_SUCH_CODING);
    next();
  };
}
