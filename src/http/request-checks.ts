// A create, step 2 of 13: the adapter refuses what HTTP forbids.
import type { IncomingMessage } from 'node:http';
import { ERRORS, ApiException } from '../errors/error-codes.js';

/** Maximum number of a request's header fields. */
export const MAX_FIELDS = 100;

/**
 * Headers that a request may have only once. Node uses the first of several, a proxy may use the last: they would not
 * agree on the request or its sender (RFC 9112, section 3.2; RFC 9110, section 5.3).
 */
const SINGLE = ['Host', 'Authorization', 'Content-Type'];

/** Finds what HTTP forbids in a request and Node's parser accepts; undefined if nothing. */
export function findRequestError({
  headers,
  httpVersion,
  rawHeaders,
  url = '',
}: IncomingMessage): ApiException | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return new ApiException(ERRORS.BAD_REQUEST);
  if (rawHeaders.length > 2 * MAX_FIELDS) {
    return new ApiException(ERRORS.BAD_REQUEST, `there are more than ${MAX_FIELDS} header fields`);
  }
  // RFC 9112, section 3.2.
  if (headers.host === undefined && httpVersion === '1.1') {
    return new ApiException(ERRORS.BAD_REQUEST, 'the Host header is missing');
  }
  for (const name of SINGLE) {
    if (countHeader(name, rawHeaders) <= 1) continue;
    return new ApiException(ERRORS.BAD_REQUEST, `there is more than one ${name} header`);
  }
  // RFC 9112, section 6.1: HTTP/1.0 has no transfer codings, and a proxy may not see them.
  if (headers['transfer-encoding'] !== undefined && httpVersion === '1.0') {
    return new ApiException(ERRORS.BAD_REQUEST, 'HTTP/1.0 has no Transfer-Encoding');
  }
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked') {
    return new ApiException(ERRORS.NO_SUCH_CODING);
  }
  if (isDecodable(url) && !url.includes('#')) return undefined;
  return new ApiException(ERRORS.BAD_REQUEST, 'the path is malformed');
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
