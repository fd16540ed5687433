import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Request, Response } from 'express';
import { ERRORS, Fault } from '../errors/errors.js';
import { connectionOf } from '../http/connection.js';

/** A static resource held in memory. */
export interface Page {
  /** What `Content-Type` says. */
  readonly type: string;
  /** Makes what is to be read, when someone first asks for it. */
  readonly make: () => string | Buffer | Promise<string | Buffer>;
  /** Whether its address changes with its content; if not, a browser asks each time whether it is still the same. */
  readonly isImmutable?: boolean;
}

/** Bytes that are handed to the connection at once: what a client does not read takes no more memory. */
const PIECE = 16 * 1024;
/** Pages that are sent at once. */
const MAX_SENT = 64;
let sent = 0;
let turn = Promise.resolve();

/**
 * Answers with a page from memory, or with 304 where the client has it (RFC 9110, section 13.1.2). The page is
 * made once, for the first who asks, so that a start does not wait for it; where that fails, the next one tries.
 *
 * @throws Fault OVERLOADED
 */
export function pageSender(page: Page): (request: Request, response: Response) => Promise<void> {
  let made: ReturnType<typeof prepare> | undefined;
  return async (request, response) => {
    if (sent >= MAX_SENT) throw new Fault(ERRORS.OVERLOADED);
    sent += 1;
    response.once('close', () => (sent -= 1));
    connectionOf(request).fill();
    made ??= prepare(page);
    const { body, headers } = await made.catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    response.set(headers);
    if (request.fresh) {
      response.removeHeader('content-length');
      response.status(304).end();
    } else if (request.method === 'HEAD') response.end();
    else Readable.from(piecesOf(body)).pipe(response);
  };
}

async function prepare({ type, make, isImmutable }: Page) {
  const body = Buffer.from(await make());
  const headers = {
    'content-type': type,
    'content-length': String(body.length),
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  };
  return { body, headers };
}

/** Behind its first piece, one piece of all pages in each turn of the event loop: over TLS a page takes 1 ms or more, and creates go on. */
async function* piecesOf(body: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE) {
    if (at > 0) await (turn = turn.then(() => setImmediate()));
    yield body.subarray(at, at + PIECE);
  }
}
