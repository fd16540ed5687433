import type { IncomingMessage, ServerResponse } from 'node:http';

/** Chunks that may be as small as they like, and the bytes that further ones must have on average. */
const FREE_CHUNKS = 256;
const LEAST_AVERAGE = 256;

/**
 * Ends the connection of a body (RFC 9112, section 7.1) whose chunks are so small that they are an attack:
 * however little is in one, six bytes on the wire say, it takes 390 bytes until it is read, and 5 µs.
 */
export function boundChunks(request: IncomingMessage, response: ServerResponse): void {
  let chunks = 0;
  let bytes = 0;
  const push = request.push.bind(request);
  // Node hands over each chunk by this, whether the body is read or not.
  request.push = (chunk: Buffer | null, encoding) => {
    chunks += 1;
    bytes += chunk?.length ?? 0;
    if (chunks > FREE_CHUNKS && bytes < LEAST_AVERAGE * chunks) request.socket.destroy();
    return push(chunk, encoding);
  };
  // Of a body that nobody has read by now Node would take the rest past that.
  response.prependListener('finish', () => request.on('data', () => undefined));
}
