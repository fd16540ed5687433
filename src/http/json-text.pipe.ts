import { isUtf8 } from 'node:buffer';
import {
  createParamDecorator,
  Injectable,
  type ExecutionContext,
  type PipeTransform,
} from '@nestjs/common';
import type { Request } from 'express';
import { Config } from '../config/config.js';
import { ERRORS, Fault } from '../errors/errors.js';

const EMPTY = Buffer.alloc(0);
const ENDED_EARLY = 'the body ended early';

/**
 * The request itself, for pipes to make a parameter of. Unlike Express's body parsers, which run
 * before Nest's guards, a pipe reads the body only once the guard has let the request pass.
 */
export const Incoming = createParamDecorator((_data: undefined, context: ExecutionContext) =>
  context.switchToHttp().getRequest<Request>(),
);

/**
 * Reads a request's body as JSON text. express.json() would read it before the guard runs, and
 * costs a fifth of the throughput (see docs/performance.md).
 *
 * @throws Fault MEDIA_TYPE, TOO_LARGE, INVALID_JSON (not UTF-8), BAD_REQUEST
 */
@Injectable()
export class JsonTextPipe implements PipeTransform<Request, Promise<string>> {
  constructor(private readonly config: Config) {}

  async transform(request: Request): Promise<string> {
    const limit = this.config.bodyLimit;
    const { headers } = request;
    if (!isJson(headers['content-type'])) throw new Fault(ERRORS.MEDIA_TYPE);
    if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
      throw new Fault(ERRORS.BAD_REQUEST, 'the body must not be compressed');
    }
    if (Number(headers['content-length'] ?? 0) > limit) throw new Fault(ERRORS.TOO_LARGE);
    if (expectsContinue(request)) request.res?.writeContinue();
    const body = await readBytes(request, limit);
    // RFC 8259, section 8.1: JSON is UTF-8. toString() alone would mend what is not.
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

/**
 * Puts a chunk behind the first bytes of a body, into the room that is left there or twice as much. Chunks
 * by themselves, one byte each say, would take hundreds of times their length.
 */
function append(body: Buffer, length: number, chunk: Buffer, limit: number): Buffer {
  if (length === 0) return chunk;
  const needed = length + chunk.length;
  const room = needed <= body.length ? body : Buffer.alloc(Math.min(limit, 2 * needed));
  if (room !== body) body.copy(room, 0, 0, length);
  chunk.copy(room, length);
  return room;
}

function readBytes(request: Request, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let body: Buffer = EMPTY;
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      const before = size;
      size += chunk.length;
      if (size <= limit) body = append(body, before, chunk, limit);
      else {
        // The rest still flows, and is dropped, so that the client comes to read the answer.
        body = EMPTY;
        reject(new Fault(ERRORS.TOO_LARGE));
      }
    });
    if (request.destroyed) reject(new Fault(ERRORS.BAD_REQUEST, ENDED_EARLY));
    request.on('end', () => {
      // One that took too long was told 400, and its rest may come all the same: it must not be stored.
      if (request.socket.writable) resolve(body.subarray(0, size));
      else reject(new Fault(ERRORS.BAD_REQUEST, ENDED_EARLY));
    });
    request.on('error', () => reject(new Fault(ERRORS.BAD_REQUEST, ENDED_EARLY)));
  });
}
