/**
 * Pages as browsers get them: compressed once, by the first request of each, and with an ETag, so that a browser that has the page
 * gets a 304 without a body. All responses share these bytes.
 *
 * 1. The ETag is weak, so that it holds for the page without compression, too (RFC 9110, section 8.8.3.3).
 * 2. Who asks for a file without gzip, for a part of it, or on a condition that `response.send()` does not know, gets it from the
 *    next handler, express.static().
 * 3. A text is what the next handler sends to the first request. There is one for each path.
 */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RequestHandler, Response } from 'express';

const compress = promisify(gzip);
const FOR_STATIC = ['range', 'if-match', 'if-unmodified-since'];

interface Page {
  readonly etag: string;
  readonly type: string;
  readonly compressed: Buffer;
}

async function makePage(plain: Buffer, type: string): Promise<Page> {
  const etag = `W/"${hash('sha256', plain, 'base64url')}"`;
  return { etag, type, compressed: await compress(plain) };
}

function sendPage({ etag, type, compressed }: Page, response: Response, sendPlain: () => void) {
  const { req: request } = response;
  response.vary('Accept-Encoding').set('ETag', etag);
  const isForStatic = FOR_STATIC.some((name) => name in request.headers);
  if (isForStatic || request.acceptsEncodings('gzip', 'identity') !== 'gzip') {
    sendPlain();
    return;
  }
  if (!request.fresh) response.set('Content-Encoding', 'gzip');
  response.type(type).send(compressed);
}

/** Serves a file. If it cannot be read, the next request tries again. */
export function serveFile(path: string): RequestHandler {
  let made: Promise<Page> | undefined;
  return async ({ method }, response, next) => {
    if (method !== 'GET' && method !== 'HEAD') {
      next();
      return;
    }
    made ??= readFile(path).then((bytes) => makePage(bytes, extname(path)));
    try {
      sendPage(await made, response, next);
    } catch (error) {
      made = undefined;
      throw error;
    }
  };
}

/** Serves the texts that the next handler sends. */
export function serveText(): RequestHandler {
  const senders = new Map<string, (response: Response) => void>();
  return (request, response, next) => {
    const [path = ''] = request.originalUrl.split('?', 1);
    const sendAgain = senders.get(path);
    if (sendAgain) {
      sendAgain(response);
      return;
    }
    const send = response.send.bind(response);
    response.send = (text: string) => {
      response.send = send;
      // An Error body is no page.
      if (response.statusCode !== 200) return send(text);
      const [plain, type] = [Buffer.from(text), response.get('Content-Type') ?? 'html'];
      const sendMade = (page: Page) => {
        const sender = (to: Response) => sendPage(page, to, () => to.type(type).send(plain));
        senders.set(path, sender);
        sender(response);
      };
      makePage(plain, type).then(sendMade).catch(next);
      return response;
    };
    next();
  };
}
