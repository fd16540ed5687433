import { createRequire } from 'node:module';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { SwaggerModule, type OpenAPIObject, type SwaggerCustomOptions } from '@nestjs/swagger';
import type { Request } from 'express';
import type { Config } from '../config/config.js';
import { Routes } from '../http/routes.js';
import { serveFile, serveText } from './compressed-pages.js';
import { buildDocument } from './document.js';

/** The files of Swagger UI that the page needs. Their folder has others, such as megabytes of source maps. */
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
  // Nothing is processed behind such a response: of a connection, one unread file at most is open.
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
    .swagger-ui .schemes { overflow-x: hidden; }
    .swagger-ui :is(.opblock-description-wrapper, .responses-inner, .opblock-section .opblock-body) { padding: 8px; }
    .swagger-ui .responses-table thead { display: none; }
    .swagger-ui .responses-table :is(tbody, tr, td) { display: block; width: auto; }
    .swagger-ui .responses-table td { padding: 4px 0; }
    .swagger-ui :is(.highlight-code, .curl-command) pre { padding-bottom: 44px; }
  }
  .swagger-ui .responses-table .response-col_links { display: none; }
`;

const PAGE: SwaggerCustomOptions = {
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
  const paths = ['/docs', '/openapi.json', '/openapi.yaml'];
  express.use(paths, (request, response, next) => {
    const name = request.path.slice(1);
    const isFile = FILES.includes(name);
    if (!isFile && name !== '' && name !== 'swagger-ui-init.js')
      throw app.get(Routes).createRefusal(request.baseUrl + request.path);
    response.set({ ...HEADERS, ...(isFile && { 'cache-control': 'max-age=3600' }) });
    next();
  });
  const require = createRequire(createRequire(import.meta.url).resolve('@nestjs/swagger'));
  for (const file of FILES.filter((name) => !name.endsWith('.png')))
    express.use(`/docs/${file}`, serveFile(require.resolve(`swagger-ui-dist/${file}`)));
  for (const path of [...paths, '/docs/', '/docs/swagger-ui-init.js'])
    express.get(path, serveText());
  SwaggerModule.setup('docs', app, () => buildDocument(app, config), {
    ...PAGE,
    jsonDocumentUrl: 'openapi.json',
    yamlDocumentUrl: 'openapi.yaml',
    patchDocumentOnRequest: (request, _response, document) =>
      (request as Request).path.startsWith('/docs') ? toPageDocument(document, config) : document,
  });
  express.get('/', (request, response, next) => {
    // request.accepts() would take 4 ms for a header of 15 KB.
    if (request.headers.accept?.includes('text/html')) response.set(HEADERS).redirect('docs');
    else next();
  });
}

/** Has the page use the server that it can reach, and link to the published document. */
function toPageDocument({ info, servers = [], ...document }: OpenAPIObject, config: Config) {
  const { publicUrl = '' } = config;
  const links = `[openapi.json](${publicUrl}/openapi.json), [openapi.yaml](${publicUrl}/openapi.yaml)`;
  const description = `${info.description}\n\nThe OpenAPI document: ${links}`;
  return { ...document, info: { ...info, description }, servers: servers.slice(-1) };
}
