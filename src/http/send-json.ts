import type { ServerResponse } from 'node:http';
import type { Answer } from '../errors/answer.js';
import type { ErrorDto } from '../errors/error.dto.js';
import { exchangeOf } from './exchange.js';
import { JSON_HEADERS, tlsHeadersOf } from './json-headers.js';

/**
 * Sends a JSON body in one piece; res.json() costs a fifth of the throughput.
 *
 * @param closing whether the client is told to close its connection
 */
export function sendJson(
  response: ServerResponse,
  { status, body, headers = {} }: Answer,
  closing: boolean,
): void {
  const exchange = exchangeOf(response);
  // Of answers that stood in line behind another one, Node does not say that their client has left.
  const { socket } = response.req;
  if (socket.destroyed) {
    exchange.end();
    return;
  }
  const text = JSON.stringify(body);
  if (status >= 400) exchange.error = (body as ErrorDto).error;
  response.writeHead(status, [
    ...JSON_HEADERS,
    ...tlsHeadersOf(socket),
    'x-request-id',
    exchange.requestId,
    'content-length',
    String(Buffer.byteLength(text)),
    ...Object.entries(headers).flat(),
    ...exchange.headers,
    ...(closing ? ['connection', 'close'] : []),
  ]);
  response.end(text);
}
