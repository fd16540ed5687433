import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Request, Response } from 'express';
import helmet from 'helmet';
import type { Config } from '../config/config.js';
import { ERRORS, Fault } from '../errors/errors.js';
import { getConnection } from '../http/connection.js';
import { speaksTls } from '../http/key-pair.js';
import { HSTS_MAX_AGE_SECONDS } from '../http/answer.js';
import { buildDocument } from './document.js';
import { SWAGGER_UI, type Page } from './swagger-ui.js';

/** Bytes that are handed to the connection at once: a client that does not read holds no more memory. */
const PIECE_BYTES = 16 * 1024;
/** Pages that are sent at the same time. */
const MAX_SENDING = 64;
let sending = 0;
let turn = Promise.resolve();

/**
 * Serves `/openapi.json`, `/openapi.yaml` and Swagger UI at `/docs`: a fixed list, from memory. Files opened for each
 * request would use a file descriptor for each client that does not read its answer.
 */
export function serveDocument(app: NestExpressApplication, config: Config): void {
  // Swagger UI sets styles in its page and draws with data: images; its scripts are files.
  const secure = helmet({
    // Behind a proxy that terminates TLS, the proxy decides.
    strictTransportSecurity: speaksTls(config) && {
      maxAge: HSTS_MAX_AGE_SECONDS,
      includeSubDomains: false,
    },
    xFrameOptions: { action: 'deny' },
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
        baseUri: ["'none'"],
        objectSrc: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
  });
  for (const path of ['/docs', '/openapi.json', '/openapi.yaml']) app.use(path, secure);
  const express = app.getHttpAdapter().getInstance();
  for (const [path, page] of Object.entries(listPages(app, config)))
    express.get(path, makeHandler(page));
  // A person who opens the bare address in a browser looks for these pages.
  express.get('/', () => {
    const docs = `${config.publicUrl ?? ''}/docs`;
    throw new Fault(ERRORS.NO_SUCH_PATH, `no such path; the documentation is at ${docs}`);
  });
}

function listPages(app: NestExpressApplication, config: Config): Record<string, Page> {
  return {
    '/openapi.json': {
      type: 'application/json',
      make: () => JSON.stringify(buildDocument(app, config)),
    },
    '/openapi.yaml': {
      type: 'application/yaml',
      make: async () => {
        // Loaded here, not at the start, which it would make longer.
        const { stringify } = await import('yaml');
        return stringify(buildDocument(app, config), { aliasDuplicateObjects: false });
      },
    },
    ...SWAGGER_UI,
  };
}

/**
 * Answers with a page from memory, or with 304 if the client has it (RFC 9110, section 13.1.2). The first request makes
 * the page; after a failure, the next request tries again.
 *
 * @throws Fault OVERLOADED
 */
function makeHandler(page: Page): (request: Request, response: Response) => Promise<void> {
  let made: ReturnType<typeof prepare> | undefined;
  return async (request, response) => {
    if (sending >= MAX_SENDING) throw new Fault(ERRORS.OVERLOADED);
    sending += 1;
    response.once('close', () => (sending -= 1));
    getConnection(request).occupy();
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
    else Readable.from(split(body)).pipe(response);
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

/** After its first piece, one piece of all pages in each turn of the event loop: a page over TLS takes 1 ms, and creates go on. */
async function* split(body: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    if (at > 0) await (turn = turn.then(() => setImmediate()));
    yield body.subarray(at, at + PIECE_BYTES);
  }
}
