import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { Config } from '../config/config.js';
import { ERRORS, ApiException } from '../errors/error-codes.js';
import { HSTS_MAX_AGE_SECONDS } from '../http/response.js';
import { speaksTls } from '../http/tls.js';
import { SWAGGER_UI, type Page } from './swagger-ui.js';

const SERVICE_DESCRIPTION = `Keeps a store of plants. A client creates a plant by sending it; there is no
other operation. Every answer other than 200 has an Error body with a number that stays the same
forever.`;

const TOKEN_DESCRIPTION = `A token, sent in the header \`Authorization: Bearer <ACCESS_TOKEN>\`. It is taken from that
header alone, never from a query or a body. It is one of two kinds: a token that the operator of the
service has issued, which stops working within 5 seconds when it is revoked; or, where the operator
has set an identity provider, a JSON Web Token from there, which must have the scope that the operator
demands: the answer is 403 if it has not, and never for the other kind.`;

/** Builds the OpenAPI 3.1.0 document from the decorators: the interface, version 1.0.0. */
export function buildDocument(app: INestApplication, config: Config): OpenAPIObject {
  return SwaggerModule.createDocument(app, {
    openapi: '3.1.0',
    info: {
      title: 'Plant Store',
      version: '1.0.0',
      description: SERVICE_DESCRIPTION,
      contact: { name: 'The operator of the service' },
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: listServers(config),
    tags: [{ name: 'Plants', description: 'The plants in the store' }],
    components: {
      securitySchemes: {
        bearerAuth: { type: 'http', scheme: 'bearer', description: TOKEN_DESCRIPTION },
      },
    },
  });
}

/**
 * Lists the servers. Without PUBLIC_URL, the first is the address that the service listens on: programs that import the
 * document, such as Postman, use the first server and cannot resolve a relative address. The second server is the host
 * that the document came from; the page at `/docs` uses that server.
 */
function listServers(config: Config): { url: string; description?: string }[] {
  const { publicUrl, host, port } = config;
  if (publicUrl !== undefined) return [{ url: publicUrl }];
  const scheme = speaksTls(config) ? 'https' : 'http';
  // No client can connect to the address that stands for all addresses of the machine.
  const name = /^(0\.0\.0\.0|::)$/.test(host) ? 'localhost' : host;
  const url = `${scheme}://${isIPv6(name) ? `[${name}]` : name}:${port}`;
  return [
    { url, description: 'the address that the service listens on' },
    { url: '/', description: 'the host that this document came from' },
  ];
}

/** Bytes that are handed to the connection at once: a client that does not read holds no more memory. */
const PIECE_BYTES = 16 * 1024;
/** Pages that are sent at the same time. */
const MAX_SENDING = 64;
let sending = 0;
let turn = Promise.resolve();

/**
 * Those of helmet that today's browsers read. Swagger UI sets styles in its page and draws with data: images; its
 * scripts are files.
 */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "base-uri 'none'; object-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-frame-options': 'DENY',
};
const TLS_PAGE_HEADERS = {
  ...PAGE_HEADERS,
  'strict-transport-security': `max-age=${HSTS_MAX_AGE_SECONDS}`,
};

/**
 * Serves `/openapi.json`, `/openapi.yaml` and Swagger UI at `/docs`: a fixed list, from memory. Files opened for each
 * request would use a file descriptor for each client that does not read its answer.
 */
export function serveDocument(app: NestExpressApplication, config: Config): void {
  const pages: Readonly<Record<string, Page>> = {
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
  const express = app.getHttpAdapter().getInstance();
  // Behind a proxy that terminates TLS, the proxy decides.
  const headers = speaksTls(config) ? TLS_PAGE_HEADERS : PAGE_HEADERS;
  for (const [path, page] of Object.entries(pages)) express.get(path, makeHandler(page, headers));
  // A person who opens the bare address in a browser looks for these pages.
  express.get('/', () => {
    const docs = `${config.publicUrl ?? ''}/docs`;
    throw new ApiException(ERRORS.NO_SUCH_PATH, `no such path; the documentation is at ${docs}`);
  });
}

/**
 * Answers with a page from memory, or with 304 if the client has it (RFC 9110, section 13.1.2). The first request makes
 * the page; after a failure, the next request tries again.
 *
 * @throws ApiException OVERLOADED
 */
function makeHandler(page: Page, security: object) {
  let made: ReturnType<typeof prepare> | undefined;
  return async (request: Request, response: Response): Promise<void> => {
    if (sending >= MAX_SENDING) throw new ApiException(ERRORS.OVERLOADED);
    sending += 1;
    response.once('close', () => (sending -= 1));
    made ??= prepare(page);
    const { body, headers } = await made.catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    response.set(security).set(headers);
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
