/**
 * Reads the JSON body of a request (RFC 8259) for `@Body()`.
 *
 * 1. It is a guard: Express's parsers run before Nest's guards, so that anybody could have bodies parsed. OperationGuard calls
 *    it once the token is valid and within its rate limit.
 * 2. What the headers tell is refused before a byte is read: another media type, a compressed body, more than 64 KiB.
 * 3. Most bodies have arrived together with their headers, and are taken at once. Others are read in parts, and refused as
 *    soon as the parts are more than 64 KiB. A large one waits for turns, rounds of the event loop that it has alone in the queue
 *    of turns.ts: parsed one after another without a pause, many of them would keep new clients waiting.
 * 4. What was read stays bytes, `request.rawBody`. `request.body` is parsed each time that somebody reads it, and only the
 *    reader keeps it: parsed JSON may take ninety times its bytes, and requests wait for their commit, or, if the body was late,
 *    for another look at their token.
 * 5. Levels of nesting are counted before the library parses, as it recurses for each: a stack overflow would be a 500.
 * 6. Numbers keep every digit: an integer is a number if it is a safe one, otherwise a bigint if it is an int64; any other is a
 *    number if a double has all of its digits, otherwise a LosslessNumber.
 */
import { isUtf8 } from 'node:buffer';
import {
  Injectable,
  type CanActivate,
  type ExecutionContext,
  type RawBodyRequest,
} from '@nestjs/common';
import type { Request } from 'express';
import { isSafeNumber, LosslessNumber, parse } from 'lossless-json';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import { redact } from '../errors/redact.js';
import { parseInt64 } from './int64.js';
import { bodies } from './turns.js';

/**
 * Reads a body. If a body parser of Nest's has read it before, uses its `rawBody`, or what it has parsed.
 * @throws ApiException MEDIA_TYPE, TOO_LARGE, BAD_REQUEST
 */
@Injectable()
export class JsonBodyGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<RawBodyRequest<Request>>();
    const { headers, rawBody } = request;
    if (!hasBody(request)) return true;
    checkType(headers['content-type']);
    if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
      throw new ApiException(ERRORS.BAD_REQUEST, 'the body must not be compressed');
    checkSize(rawBody?.length ?? Number(headers['content-length'] ?? 0));
    if (rawBody === undefined && (request.body as unknown) !== undefined) return true;
    request.rawBody ??= await readBody(request);
    Object.defineProperty(request, 'body', PARSED_WHEN_READ);
    return true;
  }
}

/** Defines `request.body`. @throws ApiException INVALID_JSON, TOO_LARGE */
const PARSED_WHEN_READ: PropertyDescriptor & ThisType<Request & { readonly rawBody: Buffer }> = {
  configurable: true,
  get() {
    return parseJson(this.rawBody);
  },
  set(value) {
    Object.defineProperty(this, 'body', { value, writable: true });
  },
};

/**
 * Whether bytes are sent (RFC 9112, section 6.3), or a media type tells of a body that is empty. The body of a GET or HEAD has no
 * meaning (RFC 9110, section 9.3.1), and is not read.
 */
function hasBody({ headers, method }: Request): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  const length = Number(headers['content-length'] ?? 0);
  if (length > 0 || headers['transfer-encoding'] !== undefined) return true;
  return headers['content-type'] !== undefined && /^(POST|PUT|PATCH)$/.test(method);
}

/**
 * Parameters are ignored: application/json defines none (RFC 8259, section 11). @throws ApiException MEDIA_TYPE, which is also
 * the error of a body that is missing: its type is missing first
 */
export function checkType(contentType = ''): void {
  const type = contentType.split(';', 1)[0]?.trim() ?? '';
  if (type.toLowerCase() === 'application/json') return;
  const sent = shorten(type) || 'missing';
  const message = `the media type is ${sent}: send \`Content-Type: application/json\``;
  throw new ApiException(ERRORS.MEDIA_TYPE, message);
}

const MAX_BODY_BYTES = 64 * 1_024;
const ENDED_EARLY = new ApiException(ERRORS.BAD_REQUEST, 'the body ended early');

/** @throws ApiException TOO_LARGE */
function checkSize(bytes: number): void {
  if (bytes <= MAX_BODY_BYTES) return;
  const message = `${ERRORS.TOO_LARGE.message} of ${MAX_BODY_BYTES} bytes`;
  throw new ApiException(ERRORS.TOO_LARGE, message);
}

/** @throws ApiException TOO_LARGE, BAD_REQUEST */
async function readBody(request: Request): Promise<Buffer> {
  const { headers, httpVersion, res } = request;
  // HTTP/1.0 knows no expectations (RFC 9110, section 10.1.1). A queued request's 100 would get into the response before it.
  if (headers.expect?.toLowerCase() === '100-continue' && httpVersion === '1.1' && res?.socket)
    res.writeContinue();
  const length = Number(headers['content-length']);
  // Most bodies arrive with their headers. Without a size, read() would return one piece of several.
  const isHere = length > 0 && request.readableLength === length;
  const body = isHere ? (request.read(length) as Buffer) : await readParts(request);
  if (body.length > 1_024) await bodies.take(request, Math.ceil(body.length / 4_096));
  // The client has left, or its request was late and got 408: the plant must not be stored.
  if (!request.socket.writable || res?.headersSent) throw ENDED_EARLY;
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
      checkSize(size);
      parts.push(part);
    }
  } catch (error) {
    throw error instanceof ApiException ? error : ENDED_EARLY;
  }
  return Buffer.concat(parts);
}

/** @throws ApiException INVALID_JSON that says where the error is; TOO_LARGE */
export function parseJson(body: Buffer): unknown {
  const text = body.toString();
  // RFC 8259, section 8.1: JSON is UTF-8, without a byte order mark. toString() replaces invalid bytes.
  if (!isUtf8(body)) throw createInvalidJson('is not valid UTF-8');
  if (text === '') throw createInvalidJson('is empty');
  if (text.startsWith('\uFEFF'))
    throw createInvalidJson('begins with a byte order mark: leave it out');
  checkDepth(text);
  try {
    return parse(text, undefined, parseNumber);
  } catch (error) {
    throw createInvalidJson(`is not valid JSON: ${shorten((error as Error).message)}`);
  }
}

const MAX_DEPTH = 100;
const TOO_DEEP = new ApiException(
  ERRORS.TOO_LARGE,
  `the body is nested deeper than ${MAX_DEPTH} levels`,
);

/** @throws ApiException TOO_LARGE */
function checkDepth(text: string): void {
  // Fewer characters cannot be nested deeper, and most bodies have fewer.
  if (text.length <= MAX_DEPTH) return;
  let [depth, isInString] = [0, false];
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === '"') isInString = !isInString;
    else if (isInString) i += character === '\\' ? 1 : 0;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    if (depth > MAX_DEPTH) throw TOO_DEEP;
  }
}

function createInvalidJson(what: string): ApiException {
  return new ApiException(ERRORS.INVALID_JSON, `the body ${what}`);
}

/** A message that quotes a long key or number keeps so many characters of each end. */
const MAX_LENGTH = 60;

function shorten(text: string): string {
  const shown = redact(text);
  const ends = [shown.slice(0, MAX_LENGTH), shown.slice(-MAX_LENGTH)];
  return (shown.length > 2 * MAX_LENGTH ? ends.join('...') : shown).toWellFormed();
}

/** A double represents every decimal number of up to 15 digits (IEEE 754). */
const SHORT = /^-?[\d.]{1,15}$/;

function parseNumber(literal: string): number | bigint | LosslessNumber {
  if (SHORT.test(literal)) return Number(literal);
  const int64 = parseInt64(literal);
  if (int64 !== undefined) return Number.isSafeInteger(Number(int64)) ? Number(int64) : int64;
  return isSafeNumber(literal) ? Number(literal) : new LosslessNumber(literal);
}
