import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import readBody from 'raw-body';
import { ERRORS, Fault } from '../errors/errors.js';
import { getConnection } from './limits/index.js';

/**
 * The request's body as JSON.parse() reads it. A ValidationPipe looks at it with `validateCustomDecorators`. It is read once the guards have let the request pass, unlike that of
 * Nest's `@Body()`: Express's body parsers run before them, and nothing of a body is read or kept without a token.
 *
 * @throws Fault MEDIA_TYPE, TOO_LARGE, INVALID_JSON with the offset of the error, BAD_REQUEST
 */
export const JsonBody = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const text = readText(context.switchToHttp().getRequest<Request>());
  return typeof text === 'string' ? parseJson(text) : text.then(parseJson);
});

const SOURCE = Symbol('source');

/** The text that a {@link JsonBody} was read from, for a pipe that needs more digits than a double has. */
export function getSource(body: object): string {
  const source = (body as { readonly [SOURCE]?: string })[SOURCE];
  if (source === undefined)
    throw new Error('a pipe before this one has copied the body of @JsonBody()');
  return source;
}

/** @throws Fault INVALID_JSON */
export function parseJson(text: string): unknown {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null
      ? Object.assign(body, { [SOURCE]: text })
      : body;
  } catch {
    throw new Fault(ERRORS.INVALID_JSON, `${ERRORS.INVALID_JSON.message}${describePlace(text)}`);
  }
}

function describePlace(text: string): string {
  const offset = findJsonFault(text);
  if (offset === undefined) return '';
  return ` at byte ${Buffer.byteLength(text.slice(0, offset))} of ${Buffer.byteLength(text)}`;
}

const EMPTY = Buffer.alloc(0);

/** Reads a request's body. Only a body that is still to come makes a promise. */
function readText(request: Request): string | Promise<string> {
  const { bodyLimit: limit } = getConnection(request).limits;
  const { headers } = request;
  if (!isJson(headers['content-type'])) throw new Fault(ERRORS.MEDIA_TYPE);
  if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new Fault(ERRORS.BAD_REQUEST, 'the body must not be compressed');
  }
  if (Number(headers['content-length'] ?? 0) > limit) throw new Fault(ERRORS.TOO_LARGE);
  if (expectsContinue(request)) request.res?.writeContinue();
  const arrived = readArrived(request);
  if (arrived) return decode(request, arrived);
  return readBody(request, { limit }).then(
    (body) => decode(request, body),
    (error: unknown) => rejectBody(request, error),
  );
}

function decode(request: IncomingMessage, body: Buffer): string {
  // A request that took too long was answered 400, and its rest may still come: it must not be stored.
  if (!request.socket.writable) return rejectBody(request);
  // RFC 8259, section 8.1: JSON is UTF-8. toString() would replace invalid bytes.
  if (!isUtf8(body)) throw new Fault(ERRORS.INVALID_JSON);
  return body.toString();
}

/** The body if it has arrived whole, as most have. */
function readArrived(request: Request): Buffer | undefined {
  if (request.readableLength !== Number(request.headers['content-length'])) return undefined;
  return (request.read() as Buffer | null) ?? EMPTY;
}

/** Parameters are ignored: application/json defines none (RFC 8259, section 11). */
function isJson(contentType = ''): boolean {
  if (contentType === 'application/json') return true;
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** HTTP/1.0 knows no expectations (RFC 9110, section 10.1.1). */
function expectsContinue({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue';
}

/** @param error of raw-body, which has paused the request: the client reads an answer once all is sent */
function rejectBody(request: IncomingMessage, error?: unknown): never {
  request.resume();
  const { type } = (error ?? {}) as { type?: string };
  if (type === 'stream.not.readable')
    throw new Error('a body parser has read the body before @JsonBody()', { cause: error });
  if (type === 'entity.too.large') throw new Fault(ERRORS.TOO_LARGE);
  throw new Fault(ERRORS.BAD_REQUEST, 'the body ended early');
}

/** One token of JSON (RFC 8259) and the blanks before it: a string, another scalar, or punctuation. */
const TOKEN =
  /([\t\n\r ]*)(?:("(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([{}[\],:]))?/y;

const STRING = '"';
const SCALAR = '0';
/** A small object has a dozen tokens. A body of brackets alone would take 20 ms. */
const MAX_TOKENS = 1_000;
/** Tokens that a value can begin with. */
const VALUE = `${STRING}${SCALAR}{[`;

/**
 * Finds the first token that JSON does not allow at its place, in a text that JSON.parse() refuses. V8's own message
 * mostly has no position, and quotes the text, which may hold a secret.
 *
 * @returns its offset in UTF-16 code units; the length of a text that ends too early; undefined after 1,000 tokens
 */
export function findJsonFault(text: string): number | undefined {
  const open: string[] = [];
  let expected = VALUE;
  TOKEN.lastIndex = 0;
  for (let tokens = 0; tokens < MAX_TOKENS; tokens++) {
    const start = TOKEN.lastIndex;
    const [, blanks = '', string, scalar, mark = ''] = TOKEN.exec(text) ?? [];
    const token = string ? STRING : scalar ? SCALAR : mark;
    if (token === '' || !expected.includes(token)) return start + blanks.length;
    const isKey = token === STRING && !expected.includes(SCALAR);
    if (token === '{' || token === '[') open.push(token);
    if (token === '}' || token === ']') open.pop();
    const isInObject = open.at(-1) === '{';
    if (token === '{') expected = `${STRING}}`;
    else if (token === '[') expected = `${VALUE}]`;
    else if (token === ',' && isInObject) expected = STRING;
    else if (token === ',' || token === ':') expected = VALUE;
    else if (isKey) expected = ':';
    else if (open.length === 0) expected = '';
    else expected = isInObject ? ',}' : ',]';
  }
  return undefined;
}
