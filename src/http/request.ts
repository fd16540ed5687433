import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERRORS, Fault } from '../errors/errors.js';

/** Header fields of a request at most. */
export const MAX_FIELDS = 100;

/**
 * Headers that a request has once at most. Of several Node takes the first, and a proxy perhaps the last: the two
 * would not agree on what is asked, and by whom (RFC 9112, section 3.2; RFC 9110, section 5.3). The check takes 0.1 µs.
 */
const SINGLE = ['Host', 'Authorization', 'Content-Type'];

/** Finds what HTTP forbids in a request and Node has let pass; undefined if there is nothing. */
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
  for (const name of SINGLE) {
    if (countHeader(name, rawHeaders) <= 1) continue;
    return new Fault(ERRORS.BAD_REQUEST, `there is more than one ${name} header`);
  }
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
function countHeader(name: string, rawHeaders: readonly string[]): number {
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

/** Whether a request asks for another protocol: only with both headers (RFC 9110, section 7.8). */
export function asksForUpgrade({ headers: { connection, upgrade } }: IncomingMessage): boolean {
  return upgrade !== undefined && /\bupgrade\b/i.test(connection ?? '');
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** A request and its answer: 5 to 14 KB measured. */
const REQUEST_BYTES = 12 * 1024;
/** Each name and each value of a header, besides its characters. */
const FIELD_BYTES = 64;

/** Counts the bytes of memory that a request takes until it is answered and its body is complete. */
export function countBytes(request: IncomingMessage, bodyLimit: number): number {
  const { headers, rawHeaders, url = '' } = request;
  const { 'content-length': length = 0, 'transfer-encoding': coding } = headers;
  const body = coding === undefined ? Math.min(Number(length), bodyLimit) : bodyLimit;
  let bytes = REQUEST_BYTES + url.length + body + FIELD_BYTES * rawHeaders.length;
  for (let i = 0; i < rawHeaders.length; i++) bytes += rawHeaders[i]?.length ?? 0;
  return bytes;
}

/** Chunks of a body that may be of any size, and the bytes that further ones must have on average. */
const MAX_SMALL_CHUNKS = 64;
const MIN_AVERAGE_CHUNK = 256;

/**
 * Closes the connection of a body that comes in many tiny chunks (RFC 9112, section 7.1) or TLS records. A chunk of
 * one byte takes 6 bytes on the wire, 390 in memory until it is read, and 5 µs.
 */
export function boundChunks(request: IncomingMessage, response: ServerResponse): void {
  const { 'transfer-encoding': coding, 'content-length': length = '0' } = request.headers;
  if (coding === undefined && Number(length) <= MIN_AVERAGE_CHUNK) return;
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
  // Node discards the rest of an unread body without push().
  response.prependListener('finish', () => request.on('data', () => undefined));
}
