import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { SwaggerModule, type OpenAPIObject, type SwaggerCustomOptions } from '@nestjs/swagger';
import type { Express, NextFunction, Request, Response } from 'express';
import type { Config } from '../config/config.js';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import { buildDocument } from './document.js';

/** Files of the page. Their folder has others, such as megabytes of source maps. */
const FILES = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-32x32.png',
];

/** Swagger UI sets styles in its page and draws with data: images; its scripts are files. */
const HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy':
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "base-uri 'none'; object-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};

/** Makes tables fit a phone and text readable in the dark, and hides the column of links: no operation has any. */
const STYLE = `
  .swagger-ui .response-controls { flex-wrap: wrap; }
  html.dark-mode body { background: #1c2022; }
  html.dark-mode .swagger-ui :is(.header-col, .examples__section-header, .examples-select__section-label) {
    color: #e4e6e6;
  }
  @media (max-width: 640px) {
    .swagger-ui .wrapper { padding: 0 8px; }
    .swagger-ui .servers > label select { min-width: 0; max-width: 100%; width: 100%; }
    .swagger-ui .servers > label { margin: 0; }
    .swagger-ui :is(.opblock-description-wrapper, .responses-inner, .opblock-section .opblock-body) { padding: 8px; }
    .swagger-ui .responses-table thead { display: none; }
    .swagger-ui .responses-table :is(tbody, tr, td) { display: block; width: auto; }
    .swagger-ui .responses-table td { padding: 4px 0; }
  }
  .swagger-ui .responses-table .response-col_links { display: none; }
`;

/**
 * The page's icon, and behind it what SwaggerModule's page lacks: without it, a phone shows the page as wide as a desktop
 * does. SwaggerModule writes the quotes around.
 */
const ICON_AND_VIEWPORT =
  "<% baseUrl %>favicon-32x32.png'><meta name='viewport' content='width=device-width, initial-scale=1";

const PAGE: SwaggerCustomOptions = {
  raw: false,
  customSiteTitle: 'Plant Store',
  customfavIcon: ICON_AND_VIEWPORT,
  customCss: STYLE,
  swaggerOptions: {
    deepLinking: true,
    docExpansion: 'full',
    persistAuthorization: true,
    // The page has the text of these functions.
    plugins: [keepTokenInTab],
    requestInterceptor: removeSecondScheme,
  },
};

/** Has Swagger UI keep the token until the tab is closed, and not on disk. */
function keepTokenInTab(): object {
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
  app.use(['/docs', '/openapi.json', '/openapi.yaml'], setPageHeaders);
  serveFiles(express);
  SwaggerModule.setup('docs', app, () => buildPageDocument(app, config), PAGE);
  SwaggerModule.setup('openapi', app, () => buildDocument(app, config), {
    ui: false,
    raw: ['json'],
    jsonDocumentUrl: 'openapi.json',
  });
  // SwaggerModule would write YAML for each request, which takes the event loop longer than a create.
  let yaml: string | undefined;
  express.get('/openapi.yaml', async (_request: Request, response: Response) => {
    const { stringify } = await import('yaml');
    yaml ??= stringify(buildDocument(app, config), { aliasDuplicateObjects: false });
    response.type('application/yaml').send(yaml);
  });
  express.get('/', redirectBrowser);
}

/** Builds the page's document: its server is the one that the page can reach, and it links to the published document. */
function buildPageDocument(app: NestExpressApplication, config: Config): OpenAPIObject {
  const { info, servers = [], ...document } = buildDocument(app, config);
  const { publicUrl = '' } = config;
  const links = `[openapi.json](${publicUrl}/openapi.json), [openapi.yaml](${publicUrl}/openapi.yaml)`;
  const description = `${info.description}\n\nThe OpenAPI document: ${links}`;
  return { ...document, info: { ...info, description }, servers: servers.slice(-1) };
}

function setPageHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.set(HEADERS);
  next();
}

/** Chunk size: TLS encrypts a whole chunk before a client reads its first byte. */
const PIECE_BYTES = 16 * 1024;

/** Serves the page's files from memory: clients that do not read them share one buffer, and hold no file open. */
function serveFiles(express: Express): void {
  // @nestjs/swagger serves the folder of its own version of Swagger UI.
  const { resolve } = createRequire(createRequire(import.meta.url).resolve('@nestjs/swagger'));
  const files = new Map(
    FILES.map((name) => {
      const content = readFileSync(resolve(`swagger-ui-dist/${name}`));
      const etag = `"${createHash('sha256').update(content).digest('base64url')}"`;
      return [name, { content, etag }];
    }),
  );
  express.get('/docs/:name', (request, response, next) => {
    const { name } = request.params;
    const file = files.get(name);
    if (file) sendFile(response.type(name).set('etag', file.etag), file.content);
    else if (name === 'swagger-ui-init.js') next();
    else throw new ApiException(ERRORS.NO_SUCH_PATH);
  });
}

function sendFile(response: Response, content: Buffer): void {
  if (response.req.fresh) response.status(304).end();
  else sendInPieces(response.set('content-length', String(content.length)), content);
}

function sendInPieces(response: Response, content: Buffer): void {
  const piece = content.subarray(0, PIECE_BYTES);
  if (piece.length === content.length || response.req.method === 'HEAD') response.end(piece);
  else
    response.write(
      piece,
      (error) => error ?? sendInPieces(response, content.subarray(PIECE_BYTES)),
    );
}

function redirectBrowser(request: Request, response: Response, next: NextFunction): void {
  if (request.accepts('json', 'html') === 'html') response.redirect('docs');
  else next();
}
