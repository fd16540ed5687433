import type { Request, RequestHandler } from 'express';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import type { Connections } from './connections.js';

/** Maximum number of a request's header fields. */
export const MAX_FIELDS = 100;

/**
 * Headers that must not be repeated. Node uses the first, a proxy may use the last: they would not agree on the request
 * or its principal (RFC 9112, section 3.2; RFC 9110, section 5.3).
 */
const SINGLE_HEADERS = ['Host', 'Authorization', 'Content-Type'];

/** Finds an error in a request that Node's parser accepts; undefined if there is none. */
function findRequestError(request: Request): string | undefined {
  const { headers, headersDistinct, httpVersion, rawHeaders, url } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return ERRORS.BAD_REQUEST.message;
  if (rawHeaders.length > 2 * MAX_FIELDS) return `there are more than ${MAX_FIELDS} header fields`;
  // RFC 9112, section 3.2.
  if (headers.host === undefined && httpVersion === '1.1') return 'the Host header is missing';
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
    if (connections.isRefusing) throw new ApiException(ERRORS.SHUTTING_DOWN);
    if (isOverloaded()) throw new ApiException(ERRORS.OVERLOADED);
    const error = findRequestError(request);
    if (error) throw new ApiException(ERRORS.BAD_REQUEST, error);
    if (coding.toLowerCase() !== 'chunked') throw new ApiException(ERRORS.NO_SUCH_CODING);
    next();
  };
}
