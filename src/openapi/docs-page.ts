// A start, step 4 of 6: createApp() adds the document and its page.
import type { NestExpressApplication } from '@nestjs/platform-express';
import { SwaggerModule, type OpenAPIObject, type SwaggerCustomOptions } from '@nestjs/swagger';
import type { NextFunction, Request, Response } from 'express';
import type { Config } from '../config/config.js';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import { getConnection } from '../http/limits/connection.js';
import { buildDocument } from './document.js';

/** Pages that are sent at once: each is an open file, and a share of the event loop. */
const MAX_SENDING = 64;
let sending = 0;

/** Files of the page. Their folder has others, such as megabytes of source maps. */
const PAGE_FILE =
  /^\/(swagger-ui(\.css|-(bundle|standalone-preset|init)\.js)|favicon-32x32\.png)?$/;

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
  app.use(['/docs', '/openapi.json', '/openapi.yaml'], preparePage, limitPages);
  SwaggerModule.setup('docs', app, () => buildPageDocument(app, config), PAGE);
  SwaggerModule.setup('openapi', app, () => buildDocument(app, config), {
    ui: false,
    raw: ['json'],
    jsonDocumentUrl: 'openapi.json',
  });
  const express = app.getHttpAdapter().getInstance();
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

/**
 * Has a page wait until it is the next response of its connection, and limits the number of those that are sent. Express
 * would not notice that the client of a response behind another one has left, and keep its file open.
 */
function limitPages(request: Request, response: Response, next: NextFunction): void {
  const { responses } = getConnection(request);
  const previous = responses[responses.indexOf(response) - 1];
  if (previous) {
    previous.once('close', () => limitPages(request, response, next));
    return;
  }
  // The client has left.
  if (!response.socket?.writable) return;
  if (sending >= MAX_SENDING) {
    next(new ApiException(ERRORS.OVERLOADED));
    return;
  }
  sending += 1;
  response.once('close', () => (sending -= 1));
  next();
}

/** @throws ApiException NO_SUCH_PATH */
function preparePage({ path }: Request, response: Response, next: NextFunction): void {
  if (!PAGE_FILE.test(path)) throw new ApiException(ERRORS.NO_SUCH_PATH);
  response.set(HEADERS);
  next();
}

function redirectBrowser(request: Request, response: Response, next: NextFunction): void {
  if (request.accepts('json', 'html') === 'html') response.redirect('docs');
  else next();
}
