import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import { ERRORS, Fault } from '../errors/errors.js';
import { answerDueOn, MAX_FIELDS } from './connection.js';
import { toAnswer } from './error.filter.js';
import { JSON_HEADERS, tlsHeadersOf } from './send-json.js';

/**
 * Of several of these Node takes the first, and a proxy before us perhaps the last: the two would not
 * agree on what is asked, and by whom (RFC 9112, section 3.2; RFC 9110, section 5.3). The check takes 0.1 µs.
 */
const SINGLE = ['Host', 'Authorization', 'Content-Type'];

/** What HTTP itself finds wrong with a request that Node has let pass; undefined where nothing is. */
export function findRequestError({
  headers,
  httpVersion,
  rawHeaders,
  url = '',
}: IncomingMessage): Fault | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return new Fault(ERRORS.BAD_REQUEST);
  if (rawHeaders.length > 2 * MAX_FIELDS) {
    return new Fault(ERRORS.BAD_REQUEST, `there are more than ${MAX_FIELDS} header fields`);
  }
  // RFC 9112, section 3.2.
  if (headers.host === undefined && httpVersion === '1.1') {
    return new Fault(ERRORS.BAD_REQUEST, 'the Host header is missing');
  }
  const repeated = SINGLE.find((name) => countOf(name, rawHeaders) > 1);
  if (repeated) return new Fault(ERRORS.BAD_REQUEST, `there is more than one ${repeated} header`);
  // RFC 9112, section 6.1: HTTP/1.0 has no transfer codings, and a proxy may not see them.
  if (headers['transfer-encoding'] !== undefined && httpVersion === '1.0') {
    return new Fault(ERRORS.BAD_REQUEST, 'HTTP/1.0 has no Transfer-Encoding');
  }
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked') {
    return new Fault(ERRORS.NO_SUCH_CODING);
  }
  if (isDecodable(url) && !url.includes('#')) return undefined;
  return new Fault(ERRORS.BAD_REQUEST, 'the path is malformed');
}

/** @param rawHeaders names and values in turn */
function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const other = rawHeaders[i] ?? '';
    if (other.length === name.length && other.toLowerCase() === name.toLowerCase()) count += 1;
  }
  return count;
}

function isDecodable(path: string): boolean {
  if (!path.includes('%')) return true;
  try {
    decodeURIComponent(path.split('?', 1)[0] ?? '');
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a request's target (RFC 9112, section 3.2) is a path or a whole URL. Any other would have Node's
 * url.parse(), which Express asks, print a warning (DEP0170).
 */
export function isTarget(target = ''): boolean {
  return target.startsWith('/') || URL.canParse(target);
}

/** Milliseconds that a client has to read the answer and to close its side of the connection. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Ends a connection whose next bytes are no HTTP. A whole request before them may be on its way to
 * the store, and a 400 would say that it is not: it gets its own answer first. Further ones get none,
 * as when a connection breaks.
 */
export function rejectMalformed(socket: Duplex, why?: string): void {
  const due = answerDueOn(socket);
  if (!due) {
    reject(socket, why);
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
function reject(socket: Duplex, why = 'unknown'): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { body } = toAnswer(new Fault(ERRORS.BAD_REQUEST));
  const text = JSON.stringify(body);
  const requestId = randomUUID();
  const own = ['x-request-id', requestId, 'content-length', `${text.length}`];
  const headers = [...JSON_HEADERS, ...tlsHeadersOf(socket), ...own, 'connection', 'close'];
  const lines = headers.flatMap((name, i) =>
    i % 2 === 0 ? [`${name}: ${headers[i + 1]}\r\n`] : [],
  );
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${text}`);
  // A client that never closes its side would keep the connection open forever.
  setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref();
  // Anyone can cause this without a token, so it has no line in the log by default.
  new Logger('Http').debug(`400 to what is no request: ${why}`, { requestId });
}
