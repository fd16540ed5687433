// A create, step 6 of 13: reads the body as text. In step 7 the pipe takes the plant's members from it.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import readBody from 'raw-body';
import { ERRORS, ApiException } from '../errors/error-codes.js';
import { JsonScan, type JsonLiterals } from './json-scanner.js';
import { getConnection } from './limits/connection.js';
import { redactChosen } from './redact.js';

const JSON_TYPE = 'application/json';
const BYTE_ORDER_MARK = 'the body begins with a byte order mark: leave it out';

/**
 * The request's body as text. It is read once the guards have let the request pass, unlike that of Nest's `@Body()`:
 * Express's body parsers run before them, and nothing of a body is read or kept without a token.
 *
 * @throws ApiException MEDIA_TYPE, TOO_LARGE, INVALID_JSON if it is not UTF-8, BAD_REQUEST
 */
export const JsonText = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  readText(context.switchToHttp().getRequest<Request>()),
);

/**
 * The request's body as JSON.parse() reads it, otherwise as {@link JsonText}. A ValidationPipe validates it with
 * `validateCustomDecorators`.
 *
 * @throws ApiException as {@link JsonText}, and INVALID_JSON with the offset of the error
 */
export const JsonBody = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const text = readText(context.switchToHttp().getRequest<Request>());
  return typeof text === 'string' ? parseJson(text) : text.then(parseJson);
});

/** @throws ApiException INVALID_JSON with the offset of the error */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // V8's message mostly has no offset, and quotes the text, which may contain a secret.
    throw createInvalidJson(text, new JsonScan(text).fault);
  }
}

/**
 * Reads the texts of members of a JSON object, at a cost that depends on the length of the object's text alone.
 *
 * @param names of the members: letters alone
 * @returns undefined if the text is JSON, but no object
 * @throws ApiException INVALID_JSON with the offset of the error
 */
export function parseMembers<Name extends string>(
  text: string,
  names: readonly Name[],
): JsonLiterals<Name> | undefined {
  const { fault, literals } = new JsonScan(text, names);
  if (fault !== undefined) throw createInvalidJson(text, fault);
  return literals;
}

/** @param offset in UTF-16 code units; the client counts bytes */
function createInvalidJson(text: string, offset = text.length): ApiException {
  if (text === '') return new ApiException(ERRORS.INVALID_JSON, 'the body is empty');
  if (text.startsWith('\uFEFF')) return new ApiException(ERRORS.INVALID_JSON, BYTE_ORDER_MARK);
  const place = `at byte ${Buffer.byteLength(text.slice(0, offset))} of ${Buffer.byteLength(text)}`;
  return new ApiException(ERRORS.INVALID_JSON, `${ERRORS.INVALID_JSON.message} ${place}`);
}

/** Reads a request's body. Only a body that is still to come makes a promise. */
function readText(request: Request): string | Promise<string> {
  const { bodyLimit: limit } = getConnection(request).limits;
  const { headers } = request;
  checkType(headers['content-type']);
  if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new ApiException(ERRORS.BAD_REQUEST, 'the body must not be compressed');
  }
  if (Number(headers['content-length'] ?? 0) > limit) throw createTooLarge(limit);
  if (expectsContinue(request)) request.res?.writeContinue();
  const arrived = readArrived(request);
  if (arrived) return decode(request, arrived);
  return readBody(request, { limit }).then(
    (body) => decode(request, body),
    (error: unknown) => rejectBody(error, limit),
  );
}

function decode(request: IncomingMessage, body: Buffer): string {
  // A request that took too long got 408, and its rest may still come: it must not be stored.
  if (!request.socket.writable) throw createEndedEarly();
  const text = body.toString();
  // RFC 8259, section 8.1: JSON is UTF-8. toString() replaces invalid bytes.
  if (isUtf8(body)) return text;
  const replaced = Buffer.from(text);
  const offset = body.findIndex((byte, i) => byte !== replaced[i]);
  const place = `at byte ${offset < 0 ? body.length : offset} of ${body.length}`;
  const message = `the body is not valid UTF-8 ${place}`;
  throw new ApiException(ERRORS.INVALID_JSON, message);
}

/** The body if it has arrived whole, as most have. */
function readArrived(request: Request): Buffer | undefined {
  if (request.readableLength !== Number(request.headers['content-length'])) return undefined;
  const pieces: Buffer[] = [];
  // Node 26 returns one piece at a time.
  for (let piece; (piece = request.read() as Buffer | null) !== null;) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Parameters are ignored: application/json defines none (RFC 8259, section 11). @throws ApiException MEDIA_TYPE */
function checkType(contentType = ''): void {
  if (contentType === JSON_TYPE) return;
  const [type = ''] = contentType.split(';', 1);
  if (type.trim().toLowerCase() === JSON_TYPE) return;
  const sent = redactChosen(type.trim()) || 'missing';
  const message = `the media type is ${sent}: send \`Content-Type: ${JSON_TYPE}\``;
  throw new ApiException(ERRORS.MEDIA_TYPE, message);
}

/** HTTP/1.0 knows no expectations (RFC 9110, section 10.1.1). */
function expectsContinue({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue';
}

function createTooLarge(limit: number): ApiException {
  return new ApiException(ERRORS.TOO_LARGE, `${ERRORS.TOO_LARGE.message} of ${limit} bytes`);
}

function createEndedEarly(): ApiException {
  return new ApiException(ERRORS.BAD_REQUEST, 'the body ended early');
}

/** @param error of raw-body */
function rejectBody(error: unknown, limit: number): never {
  const { type } = error as { type?: string };
  if (type === 'stream.not.readable')
    throw new Error('a body parser has read the body before @JsonText() or @JsonBody()', {
      cause: error,
    });
  throw type === 'entity.too.large' ? createTooLarge(limit) : createEndedEarly();
}
