import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createParamDecorator,
  Injectable,
  type ExecutionContext,
  type PipeTransform,
} from '@nestjs/common';
import type { Request } from 'express';
import readBody from 'raw-body';
import { Config } from '../config/config.js';
import { ERRORS, Fault } from '../errors/errors.js';

/** Chunks of a body that may be of any size, and the bytes that further ones must have on average. */
const MAX_SMALL_CHUNKS = 64;
const MIN_AVERAGE_CHUNK = 256;

/**
 * Closes the connection of a body that comes in many tiny chunks (RFC 9112, section 7.1) or TLS records. A chunk of
 * one byte takes 6 bytes on the wire, 390 in memory until it is read, and 5 µs.
 */
export function boundChunks(request: IncomingMessage, response: ServerResponse): void {
  const { 'transfer-encoding': coding, 'content-length': length = '0' } = request.headers;
  if (coding === undefined && Number(length) <= MIN_AVERAGE_CHUNK) return;
  let chunks = 0;
  let bytes = 0;
  const push = request.push.bind(request);
  // Node hands over each chunk by this, whether the body is read or not.
  request.push = (chunk: Buffer | null, encoding) => {
    chunks += 1;
    bytes += chunk?.length ?? 0;
    if (bytes < MIN_AVERAGE_CHUNK * (chunks - MAX_SMALL_CHUNKS)) request.socket.destroy();
    return push(chunk, encoding);
  };
  // Node discards the rest of an unread body without push().
  response.prependListener('finish', () => request.on('data', () => undefined));
}

/**
 * The request itself, for pipes to make a parameter of. Unlike Express's body parsers, which run
 * before Nest's guards, a pipe reads the body only once the guard has let the request pass.
 */
export const Incoming = createParamDecorator((_data: undefined, context: ExecutionContext) =>
  context.switchToHttp().getRequest<Request>(),
);

/**
 * Reads a request's body as JSON text, behind the guard.
 *
 * @throws Fault MEDIA_TYPE, TOO_LARGE, INVALID_JSON (not UTF-8), BAD_REQUEST
 */
@Injectable()
export class JsonBodyPipe implements PipeTransform<Request, Promise<string>> {
  constructor(private readonly config: Config) {}

  async transform(request: Request): Promise<string> {
    const { headers } = request;
    if (!isJson(headers['content-type'])) throw new Fault(ERRORS.MEDIA_TYPE);
    if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
      throw new Fault(ERRORS.BAD_REQUEST, 'the body must not be compressed');
    }
    const limit = this.config.bodyLimit;
    if (Number(headers['content-length'] ?? 0) > limit) throw new Fault(ERRORS.TOO_LARGE);
    if (expectsContinue(request)) request.res?.writeContinue();
    const body = await readBody(request, { limit }).catch((error: unknown) =>
      rejectBody(request, error),
    );
    // A request that took too long was answered 400, and its rest may still come: it must not be stored.
    if (!request.socket.writable) return rejectBody(request);
    // RFC 8259, section 8.1: JSON is UTF-8. toString() would replace invalid bytes.
    if (!isUtf8(body)) throw new Fault(ERRORS.INVALID_JSON);
    return body.toString();
  }
}

/** Parameters are ignored: application/json defines none (RFC 8259, section 11). */
function isJson(contentType = ''): boolean {
  if (contentType === 'application/json') return true;
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** HTTP/1.0 knows no expectations (RFC 9110, section 10.1.1). */
function expectsContinue({ httpVersion, headers }: Request): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue';
}

/** @param error of raw-body, which has paused the request: the client reads an answer once all is sent */
function rejectBody(request: Request, error?: unknown): never {
  request.resume();
  const { type } = (error ?? {}) as { type?: string };
  if (type === 'entity.too.large') throw new Fault(ERRORS.TOO_LARGE);
  throw new Fault(ERRORS.BAD_REQUEST, 'the body ended early');
}
