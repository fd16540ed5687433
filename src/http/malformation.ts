import type { IncomingMessage } from 'node:http';
import { ERRORS } from '../errors/errors.js';
import { Fault } from '../errors/fault.js';

/** What HTTP itself finds wrong with a request that Node has let pass; undefined where nothing is. */
export function malformation({
  headers,
  httpVersion,
  url = '',
}: IncomingMessage): Fault | undefined {
  // RFC 9112, section 3.2.
  if (headers.host === undefined && httpVersion === '1.1') {
    return new Fault(ERRORS.BAD_REQUEST, 'the Host header is missing');
  }
  return isDecodable(url) ? undefined : new Fault(ERRORS.BAD_REQUEST, 'the path is malformed');
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
