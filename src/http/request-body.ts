import type { Request } from 'express';
import { ApiException, ERRORS } from '../errors/error-codes.js';

/** The setting of Express that has the maximum size of a body in bytes. */
export const BODY_LIMIT = 'body limit';
const DEFAULT_BODY_LIMIT = 64 * 1024;

/** @throws ApiException TOO_LARGE */
export function checkSize({ app }: Request, size: number): void {
  const limit = (app.get(BODY_LIMIT) as number | undefined) ?? DEFAULT_BODY_LIMIT;
  if (size > limit)
    throw new ApiException(ERRORS.TOO_LARGE, `${ERRORS.TOO_LARGE.message} of ${limit} bytes`);
}

/** @throws ApiException TOO_LARGE, BAD_REQUEST */
export async function readBody(request: Request): Promise<Buffer> {
  const { headers, httpVersion, res } = request;
  // HTTP/1.0 knows no expectations (RFC 9110, section 10.1.1). For a queued request, Node would write the 100 into the response before it.
  if (headers.expect?.toLowerCase() === '100-continue' && httpVersion === '1.1' && res?.socket)
    res.writeContinue();
  const length = Number(headers['content-length']);
  // Most bodies arrive with their headers. Without a size, read() would return one piece of several.
  const isHere = length > 0 && request.readableLength === length;
  const body = isHere ? (request.read(length) as Buffer) : await readParts(request);
  // The client has left, or its request was late and got 408: the plant must not be stored.
  if (!request.socket.writable || res?.headersSent) throw createEndedEarly();
  return body;
}

/** The connection stays open if the body is too large: its next request follows the rest. */
async function readParts(request: Request): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  const read = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  try {
    for await (const part of read) {
      size += part.length;
      checkSize(request, size);
      parts.push(part);
    }
  } catch (error) {
    throw error instanceof ApiException ? error : createEndedEarly();
  }
  return Buffer.concat(parts);
}

function createEndedEarly(): ApiException {
  return new ApiException(ERRORS.BAD_REQUEST, 'the body ended early');
}
