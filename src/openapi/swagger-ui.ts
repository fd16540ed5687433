import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** A static resource held in memory. */
export interface Page {
  /** Value of `Content-Type`. */
  readonly type: string;
  /** Makes the content at the first request for it. */
  readonly make: () => string | Buffer | Promise<string | Buffer>;
  /** Whether the content of this address never changes; if not, browsers ask each time whether it has. */
  readonly isImmutable?: boolean;
}

const require = createRequire(import.meta.url);
const MANIFEST = require.resolve('swagger-ui-dist/package.json');
const { version } = require(MANIFEST) as { readonly version: string };

/**
 * Starts Swagger UI on the document, which is beside the script's own folder, whatever path a proxy puts before both.
 * Swagger UI keeps the token in localStorage, on disk. In sessionStorage it outlives a reload of the tab, but never the
 * tab. A token that was pasted with its scheme loses the scheme. Swagger UI has a dark mode, but no switch for it in
 * this layout.
 */
const INIT = `const url = new URL('../openapi.json', document.currentScript.src).href;
const dark = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
followScheme();
dark.addEventListener('change', followScheme);
let persistAuthorization = true;
try {
  Object.defineProperty(window, 'localStorage', { value: sessionStorage });
} catch {
  // The browser blocks storage.
  persistAuthorization = false;
}
const ui = SwaggerUIBundle({
  url,
  dom_id: '#swagger-ui',
  deepLinking: true,
  docExpansion: 'full',
  persistAuthorization,
  requestInterceptor: (request) => {
    const { Authorization: token } = request.headers;
    if (token) request.headers.Authorization = token.trim().replace(/^(bearer\\s+)+/i, 'Bearer ');
    return request;
  },
  onComplete: () => {
    const { servers } = ui.specSelectors.specJson().toJS();
    if (servers.some(({ url }) => url === '/')) ui.oas3Actions.setSelectedServer('/');
  },
});
`;

/** Makes tables fit a phone and text readable in the dark, and hides the column of links: no operation has any. */
const STYLE = `
      body { margin: 0; background: #fafafa; }
      .swagger-ui .response-col_links { display: none; }
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
    `;

/** @param base path from the page to the files */
function renderPage(base: string): string {
  const at = (name: string) => `./${base}${name}?v=${version}`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Plant Store</title>
    <link rel="icon" type="image/png" sizes="32x32" href="${at('favicon-32x32.png')}">
    <link rel="icon" type="image/png" sizes="16x16" href="${at('favicon-16x16.png')}">
    <link rel="stylesheet" href="${at('swagger-ui.css')}">
    <style>${STYLE}</style>
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="${at('swagger-ui-bundle.js')}"></script>
    <script src="./${base}swagger-ui-init.js"></script>
  </body>
</html>
`;
}

/** A file of swagger-ui-dist. The page asks for it by version, so browsers may keep it forever. */
function readUi(name: string, type: string): Page {
  return { type, make: () => readFile(join(dirname(MANIFEST), name)), isImmutable: true };
}

const HTML = 'text/html; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** Swagger UI by path: the page, and the files that it loads. Nothing else of swagger-ui-dist is served. */
export const SWAGGER_UI: Readonly<Record<string, Page>> = {
  '/docs': { type: HTML, make: () => renderPage('docs/') },
  '/docs/': { type: HTML, make: () => renderPage('') },
  '/docs/swagger-ui-init.js': { type: JAVASCRIPT, make: () => INIT },
  '/docs/swagger-ui-bundle.js': readUi('swagger-ui-bundle.js', JAVASCRIPT),
  '/docs/swagger-ui.css': readUi('swagger-ui.css', 'text/css; charset=utf-8'),
  '/docs/favicon-16x16.png': readUi('favicon-16x16.png', 'image/png'),
  '/docs/favicon-32x32.png': readUi('favicon-32x32.png', 'image/png'),
};
