import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { SwaggerModule, type OpenAPIObject, type SwaggerCustomOptions } from '@nestjs/swagger';
import type { Express } from 'express';
import type { Config } from '../config/config.js';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import { buildDocument } from './document.js';

/** Files of the page. Their folder has others, such as megabytes of source maps. */
const FILES = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-16x16.png',
  'favicon-32x32.png',
];

/** Swagger UI sets styles in its page and draws with data: images; its scripts are files. */
const HEADERS = {
  'cache-control': 'no-cache',
  // Nothing is processed behind such a response: MAX_PIPELINED of a connection, unread, would be in memory.
  connection: 'close',
  'content-security-policy':
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "base-uri 'none'; object-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};

/** Fits tables to a phone, makes text readable in the dark, and hides the column of links: no operation has any. */
const STYLE = `
  .swagger-ui .response-controls { flex-wrap: wrap; }
  html.dark-mode body { background: #1c2022; }
  html.dark-mode .swagger-ui :is(.header-col, .examples__section-header, .examples-select__section-label) {
    color: #e4e6e6;
  }
  @media (max-width: 640px) {
    .swagger-ui .wrapper { padding: 0 8px; }
    .swagger-ui :is(.opblock-description-wrapper, .responses-inner, .opblock-section .opblock-body) { padding: 8px; }
    .swagger-ui .responses-table thead { display: none; }
    .swagger-ui .responses-table :is(tbody, tr, td) { display: block; width: auto; }
    .swagger-ui .responses-table td { padding: 4px 0; }
  }
  .swagger-ui .responses-table .response-col_links { display: none; }
`;

const PAGE: SwaggerCustomOptions = {
  raw: false,
  customSiteTitle: 'Plant Store',
  customCss: STYLE,
  swaggerOptions: {
    deepLinking: true,
    docExpansion: 'full',
    persistAuthorization: true,
    // The page has the text of these functions.
    plugins: [preparePage],
    requestInterceptor: removeSecondScheme,
  },
};

/** The part of a browser that {@link preparePage} uses. */
interface Browser {
  readonly document: { readonly head: { insertAdjacentHTML(where: string, html: string): void } };
}

/** A plugin of Swagger UI: fits the page to a phone, and keeps the token until the tab is closed, not on disk. */
function preparePage(): object {
  const { head } = (globalThis as unknown as Browser).document;
  head.insertAdjacentHTML('beforeend', '<meta name="viewport" content="width=device-width">');
  Object.defineProperty(globalThis, 'localStorage', { get: () => globalThis.sessionStorage });
  return {};
}

/** Accepts a token that was pasted with its scheme. */
function removeSecondScheme(request: { readonly headers: { Authorization?: string } }): object {
  const { Authorization: token } = request.headers;
  if (token) request.headers.Authorization = token.trim().replace(/^(bearer\s+)+/i, 'Bearer ');
  return request;
}

/** Serves `/openapi.json`, `/openapi.yaml` and Swagger UI at `/docs`, to which a browser is redirected from `/`. */
export function serveDocument(app: NestExpressApplication, config: Config): void {
  const express = app.getHttpAdapter().getInstance();
  express.use(['/docs', '/openapi.json', '/openapi.yaml'], (_request, response, next) => {
    response.set(HEADERS);
    next();
  });
  serveFiles(express);
  SwaggerModule.setup('docs', app, () => buildPageDocument(app, config), PAGE);
  SwaggerModule.setup('openapi', app, () => buildDocument(app, config), {
    ui: false,
    jsonDocumentUrl: 'openapi.json',
    yamlDocumentUrl: 'openapi.yaml',
  });
  express.get('/', (request, response, next) => {
    // Not request.accepts(), which takes 4 ms for a header of 15 KB.
    if (request.headers.accept?.includes('text/html')) response.set(HEADERS).redirect('docs');
    else next();
  });
}

/** Builds the page's document: its server is the one that the page can reach, and it links to the published document. */
function buildPageDocument(app: NestExpressApplication, config: Config): OpenAPIObject {
  const { info, servers = [], ...document } = buildDocument(app, config);
  const { publicUrl = '' } = config;
  const links = `[openapi.json](${publicUrl}/openapi.json), [openapi.yaml](${publicUrl}/openapi.yaml)`;
  const description = `${info.description}\n\nThe OpenAPI document: ${links}`;
  return { ...document, info: { ...info, description }, servers: servers.slice(-1) };
}

/** Serves Swagger UI's files in place of SwaggerModule, from memory: unread ones hold no file open. */
function serveFiles(express: Express): void {
  // @nestjs/swagger has its own version of Swagger UI.
  const { resolve } = createRequire(createRequire(import.meta.url).resolve('@nestjs/swagger'));
  const read = (name: string) => readFileSync(resolve(`swagger-ui-dist/${name}`));
  const files = new Map(FILES.map((name) => [name, read(name)]));
  express.get('/docs/*path', (request, response, next) => {
    const name = request.params.path.join('/');
    const content = files.get(name);
    if (content) {
      response.set({ 'content-length': content.length, 'cache-control': 'max-age=3600' });
      Readable.from(split(content)).pipe(response.type(name));
    } else if (name === 'swagger-ui-init.js') next();
    else throw new ApiException(ERRORS.NO_SUCH_PATH);
  });
}

const PIECE_BYTES = 16 * 1024;

/** TLS encrypts at once what is written, even if the client does not read it. */
function* split(content: Buffer) {
  for (let start = 0; start < content.length; start += PIECE_BYTES)
    yield content.subarray(start, start + PIECE_BYTES);
}
