import type { IncomingMessage } from 'node:http';
import { ERRORS } from '../errors/errors.js';
import { Fault } from '../errors/fault.js';

/**
 * Of several of these Node takes the first, and a proxy before us perhaps the last: the two would not
 * agree on what is asked, and by whom (RFC 9112, section 3.2; RFC 9110, section 5.3). To look takes 0.1 µs.
 */
const SINGLE = ['Host', 'Authorization'];

/** What HTTP itself finds wrong with a request that Node has let pass; undefined where nothing is. */
export function malformation({
  headers,
  httpVersion,
  rawHeaders,
  url = '',
}: IncomingMessage): Fault | undefined {
  // RFC 9112, section 3.2.
  if (headers.host === undefined && httpVersion === '1.1') {
    return new Fault(ERRORS.BAD_REQUEST, 'the Host header is missing');
  }
  const repeated = SINGLE.find((name) => countOf(name, rawHeaders) > 1);
  if (repeated) return new Fault(ERRORS.BAD_REQUEST, `there is more than one ${repeated} header`);
  return isDecodable(url) ? undefined : new Fault(ERRORS.BAD_REQUEST, 'the path is malformed');
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
