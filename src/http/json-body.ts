import { isUtf8 } from 'node:buffer';
import { finished } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createParamDecorator, type ExecutionContext, type RawBodyRequest } from '@nestjs/common';
import type { Request } from 'express';
import { isSafeNumber, LosslessNumber, parse } from 'lossless-json';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import { parseInt64 } from '../database/kinds.js';
import { redact } from '../errors/operator-message.js';

/** The setting of Express that has the maximum size of a body in bytes. */
export const BODY_LIMIT = 'body limit';
const DEFAULT_BODY_LIMIT = 64 * 1024;

/**
 * The request's JSON body (RFC 8259), read behind the guards: unlike with `@Body()`, no body is read without a token.
 * A number is a number if a double has all of its digits, else a bigint if it is an int64, else a LosslessNumber. After a
 * body parser, uses its `rawBody`, or else what it has parsed. For a ValidationPipe: `validateCustomDecorators`.
 * @throws ApiException MEDIA_TYPE, TOO_LARGE, INVALID_JSON, BAD_REQUEST, OVERLOADED
 */
export const JsonBody = createParamDecorator(async (_data: unknown, context: ExecutionContext) => {
  const request = context.switchToHttp().getRequest<RawBodyRequest<Request>>();
  const { headers, rawBody } = request;
  const parsed: unknown = request.body;
  const limit = getLimit(request);
  checkType(headers['content-type']);
  if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
    throw new ApiException(ERRORS.BAD_REQUEST, 'the body must not be compressed');
  const length = rawBody?.length ?? Number(headers['content-length'] ?? 0);
  if (length > limit || tooLarge.has(request)) throw createTooLarge(limit);
  if (rawBody === undefined && parsed !== undefined) return parsed;
  const body = rawBody ?? (await readRaw(request, limit));
  if (body.length > SMALL_BODY) await waitForTurn(body.length);
  // The client has left, or its request was late and got 408: the plant must not be stored.
  if (!request.socket.writable) throw createEndedEarly();
  return parseJson(body);
});

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
  // HTTP/1.0 knows no expectations (RFC 9110, section 10.1.1). Behind another response Node would write it into this one.
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

/** Copies the parts of a body: a client may send each byte in a chunk or a packet of its own, and Node has 300 for it. */
async function readParts(request: Request, limit: number): Promise<Buffer> {
  const maxLength = Number(request.headers['content-length'] ?? limit);
  let body = Buffer.alloc(0);
  let size = 0;
  const { promise: refused, reject } = Promise.withResolvers<never>();
  const collect = (part: Buffer): void => {
    const end = size + part.length;
    if (end > limit) {
      // The rest is still read, as the connection's next request follows it.
      request.off('data', collect).resume();
      reject(createTooLarge(limit));
      return;
    }
    // One part is the rule. Growing by degrees would leave the old buffers in memory for a while.
    if (end > body.length) body = Buffer.concat([body], size === 0 ? end : maxLength);
    part.copy(body, size);
    size = end;
  };
  request.on('data', collect);
  const ended = finished(request).catch(() => Promise.reject(createEndedEarly()));
  await Promise.race([ended, refused]);
  return body.subarray(0, size);
}

/** Bytes, of as many parts at most, after which {@link mergeParts} merges them. */
const MERGED_AFTER = 128;

/** Whose body was larger than the limit before anybody read it. */
const tooLarge = new WeakSet<Request>();

/** Merges the parts of a body that nobody reads yet, as they arrive, until disposed. Skips one that is too large. */
export function mergeParts(request: Request): Disposable {
  const limit = getLimit(request);
  let merged = 0;
  const merge = (): void => {
    const { readableLength: size, readableHighWaterMark: mark } = request;
    if (size > limit) {
      tooLarge.add(request.off('readable', merge).resume());
      // A larger read() would raise the mark, at which the stream stops.
    } else if (size >= merged + MERGED_AFTER && size < mark) {
      request.unshift(request.read(size));
      merged = size;
    }
  };
  request.on('readable', merge);
  return { [Symbol.dispose]: () => void request.off('readable', merge) };
}

function getLimit({ app }: Request): number {
  return (app.get(BODY_LIMIT) as number | undefined) ?? DEFAULT_BODY_LIMIT;
}

/** Parameters are ignored: application/json defines none (RFC 8259, section 11). @throws ApiException MEDIA_TYPE */
function checkType(contentType = ''): void {
  const type = contentType.split(';', 1)[0]?.trim() ?? '';
  if (type.toLowerCase() === 'application/json') return;
  const sent = shorten(type) || 'missing';
  const message = `the media type is ${sent}: send \`Content-Type: application/json\``;
  throw new ApiException(ERRORS.MEDIA_TYPE, message);
}

function createTooLarge(limit: number): ApiException {
  return new ApiException(ERRORS.TOO_LARGE, `${ERRORS.TOO_LARGE.message} of ${limit} bytes`);
}

function createEndedEarly(): ApiException {
  return new ApiException(ERRORS.BAD_REQUEST, 'the body ended early');
}

/** @throws ApiException INVALID_JSON that says where the error is */
export function parseJson(body: Buffer): unknown {
  const text = body.toString();
  // RFC 8259, section 8.1: JSON is UTF-8, without a byte order mark. toString() replaces invalid bytes.
  if (!isUtf8(body)) {
    const replaced = Buffer.from(text);
    const offset = body.findIndex((byte, i) => byte !== replaced[i]);
    const place = `at byte ${offset < 0 ? body.length : offset} of ${body.length}`;
    throw createInvalidJson(`is not valid UTF-8 ${place}`);
  }
  if (text === '') throw createInvalidJson('is empty');
  if (text.startsWith('\uFEFF'))
    throw createInvalidJson('begins with a byte order mark: leave it out');
  try {
    return parse(text, undefined, parseNumber);
  } catch (error) {
    // The library recurses for each level.
    const reason =
      error instanceof RangeError ? 'it is nested too deeply' : (error as Error).message;
    throw createInvalidJson(`is not valid JSON: ${shorten(reason)}`);
  }
}

function createInvalidJson(what: string): ApiException {
  return new ApiException(ERRORS.INVALID_JSON, `the body ${what}`);
}

/** How much of each end is kept of a message that quotes a long key or number. */
const MAX_LENGTH = 60;

function shorten(text: string): string {
  const shown = redact(text);
  const ends = [shown.slice(0, MAX_LENGTH), shown.slice(-MAX_LENGTH)];
  return (shown.length > 2 * MAX_LENGTH ? ends.join('...') : shown).toWellFormed();
}

/** A double represents every decimal number of up to 15 digits (IEEE 754). */
const MAX_SAFE_LENGTH = 15;
const ZERO = /^-?[0.]+(?:[eE]|$)/;

function parseNumber(literal: string): number | bigint | LosslessNumber {
  const number = Number(literal);
  const size = Math.abs(number);
  // Zero may be a number that is too small for a double.
  if (number === 0 && !ZERO.test(literal)) return new LosslessNumber(literal);
  const isExact = literal.length <= MAX_SAFE_LENGTH;
  if (isExact && size <= Number.MAX_SAFE_INTEGER) return number;
  if (size > 2 ** 63) return new LosslessNumber(literal);
  const int64 = parseInt64(literal);
  if (int64 !== undefined) return Number.isSafeInteger(number) ? Number(int64) : int64;
  return isSafeNumber(literal) && !Number.isInteger(number) ? number : new LosslessNumber(literal);
}
