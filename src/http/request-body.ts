import { finished } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RawBodyRequest } from '@nestjs/common';
import type { Request } from 'express';
import { ApiException, ERRORS } from '../errors/error-codes.js';

/** The setting of Express that has the maximum size of a body in bytes. */
export const BODY_LIMIT = 'body limit';
const DEFAULT_BODY_LIMIT = 64 * 1024;

function getLimit({ app }: Request): number {
  return (app.get(BODY_LIMIT) as number | undefined) ?? DEFAULT_BODY_LIMIT;
}

/** Checks the size as far as it is known before the body is read. @throws ApiException TOO_LARGE */
export function checkSize(request: RawBodyRequest<Request>): void {
  const length = request.rawBody?.length ?? Number(request.headers['content-length'] ?? 0);
  const limit = getLimit(request);
  if (length > limit || tooLarge.has(request)) throw createTooLarge(limit);
}

/**
 * Reads a body, or takes that of a body parser, and waits until there is time to parse it.
 * @throws ApiException TOO_LARGE, BAD_REQUEST, OVERLOADED
 */
export async function readBody(request: RawBodyRequest<Request>): Promise<Buffer> {
  const body = request.rawBody ?? (await readRaw(request, getLimit(request)));
  const context = request.res?.context;
  if (context) context.bodyLength = body.length;
  if (body.length > SMALL_BODY) await waitForTurn(body.length);
  // The client has left, or its request was late and got 408: the plant must not be stored.
  if (!request.socket.writable) throw createEndedEarly();
  return body;
}

/** Bytes that take a fraction of a millisecond to parse, whatever they are. */
const SMALL_BODY = 1_024;
/** Bytes that are parsed in a turn of the event loop, some 5 ms at worst, or else one body. */
const MAX_BYTES_PER_TURN = 16 * 1024;
const MAX_WAITING_BYTES = 2 ** 24;
let waitingBytes = 0;
let bytesInLastTurn = 0;
let lastTurn: Promise<unknown> = Promise.resolve();

/**
 * Spreads the parsing of bodies over turns of the event loop: libuv accepts one connection a turn, so that long turns keep
 * new clients waiting. @throws ApiException OVERLOADED
 */
async function waitForTurn(bytes: number): Promise<void> {
  if (waitingBytes + bytes > MAX_WAITING_BYTES) throw new ApiException(ERRORS.OVERLOADED);
  waitingBytes += bytes;
  bytesInLastTurn += bytes;
  if (bytesInLastTurn > MAX_BYTES_PER_TURN) {
    bytesInLastTurn = bytes;
    lastTurn = lastTurn.then(() => nextTurn());
  }
  await lastTurn;
  waitingBytes -= bytes;
}

async function readRaw(request: Request, limit: number): Promise<Buffer> {
  const { headers, httpVersion } = request;
  // HTTP/1.0 knows no expectations (RFC 9110, section 10.1.1). For a queued request, Node would write the 100 into the response before it.
  if (
    headers.expect?.toLowerCase() === '100-continue' &&
    httpVersion === '1.1' &&
    request.res?.socket
  )
    request.res.writeContinue();
  const length = Number(headers['content-length']);
  // Most bodies arrive with their headers. Without a size, read() would return one piece of several.
  if (length > 0 && request.readableLength === length) return request.read(length) as Buffer;
  return readParts(request, limit);
}

/** Copies the parts into one buffer: each costs Node 300 bytes, and a client may send one for each byte. */
async function readParts(request: Request, limit: number): Promise<Buffer> {
  const maxLength = Number(request.headers['content-length'] ?? limit);
  let body = Buffer.alloc(0);
  let size = 0;
  const { promise: refused, reject } = Promise.withResolvers<never>();
  const collect = (part: Buffer): void => {
    const end = size + part.length;
    if (end > limit) {
      // The stream keeps flowing: the connection's next request follows the rest.
      request.off('data', collect);
      reject(createTooLarge(limit));
      return;
    }
    if (end > body.length) {
      // Most bodies have one part. Growing in steps would leave the old buffers in memory; zeros would use it.
      const grown = Buffer.allocUnsafe(size === 0 ? end : maxLength);
      body.copy(grown, 0, 0, size);
      body = grown;
    }
    part.copy(body, size);
    size = end;
  };
  request.on('data', collect);
  const ended = finished(request).catch(() => Promise.reject(createEndedEarly()));
  await Promise.race([ended, refused]);
  return body.subarray(0, size);
}

/** Number of new bytes in memory from which {@link mergeParts} merges their parts. */
const MERGED_AFTER = 128;

/** Requests whose body exceeded the limit before it had a reader. */
const tooLarge = new WeakSet<Request>();

/** Merges the parts of a body that nobody reads yet, as they arrive, until disposed. Skips one that is too large. */
export function mergeParts(request: Request): Disposable {
  const limit = getLimit(request);
  let merged = 0;
  const merge = (): void => {
    const { readableLength: size, readableHighWaterMark: mark } = request;
    if (size > limit) {
      tooLarge.add(request.off('readable', merge).resume());
      // read() of more than the high-water mark would raise it, and the stream would buffer more.
    } else if (size >= merged + MERGED_AFTER && size < mark) {
      request.unshift(request.read(size));
      merged = size;
    }
  };
  request.on('readable', merge);
  return { [Symbol.dispose]: () => void request.off('readable', merge) };
}

function createTooLarge(limit: number): ApiException {
  return new ApiException(ERRORS.TOO_LARGE, `${ERRORS.TOO_LARGE.message} of ${limit} bytes`);
}

function createEndedEarly(): ApiException {
  return new ApiException(ERRORS.BAD_REQUEST, 'the body ended early');
}
