/** @engine sqlite */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { digestTexts, PICTURED, published, read, type JsonObject } from '../support/published.js';
import { service, startService } from '../support/own.js';
import { Service } from '../support/service.js';

startService();

const get = (path: string, headers = {}) => service.client.send({ method: 'GET', path, headers });

describe('the document and its UI', () => {
  it('serves openapi.json as `npm run openapi` writes it, and its host as another server', async () => {
    const document = JSON.parse((await get('/openapi.json')).text) as JsonObject;
    expect(document.servers).toMatchObject([{ url: 'http://127.0.0.1:0' }, { url: '/' }]);
    document.servers = published.servers ?? [];
    expect(read('openapi.json')).toBe(`${JSON.stringify(document, null, 2)}\n`);
  });

  it("the README's picture shows its texts", async () => {
    const document = JSON.parse((await get('/openapi.json')).text) as JsonObject;
    expect(read(PICTURED)).toBe(digestTexts(document));
  });

  it('serves the same document as YAML', async () => {
    const document: unknown = JSON.parse((await get('/openapi.json')).text);
    expect(parse((await get('/openapi.yaml')).text)).toEqual(document);
  });

  it.each([
    ['/docs', 'text/html'],
    ['/docs/', 'text/html'],
    ['/docs/swagger-ui.css', 'text/css'],
    ['/docs/swagger-ui-bundle.js', 'javascript'],
    ['/docs/swagger-ui-init.js', 'javascript'],
    ['/openapi.json', 'application/json'],
    ['/openapi.yaml', 'yaml'],
  ])('GET and HEAD %s', async (path, type) => {
    const { status, headers } = await get(path);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': expect.stringContaining(type),
      'content-security-policy': expect.stringMatching(/^default-src 'self'; (?!.*script-src)/),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    });
    expect(headers).not.toHaveProperty('x-powered-by');
    const head = await service.client.send({ method: 'HEAD', path, headers: {} });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-length']).toBe(headers['content-length']);
  });

  it('a browser keeps the files for an hour, and asks for the page each time', async () => {
    const caching = async (path: string) => (await get(path)).headers['cache-control'];
    expect(await caching('/docs/swagger-ui-bundle.js')).toBe('max-age=3600');
    for (const path of ['/docs', '/docs/swagger-ui-init.js', '/openapi.json'])
      expect(await caching(path)).toBe('no-cache');
  });

  it.each([
    ['a part that a file does not have', 416, { range: 'bytes=99999999-' }],
    ['another version of a file', 412, { 'if-match': '"x"' }],
  ])('%s: %i with an Error body, which nobody keeps', async (_what, status, headers) => {
    expect(await get('/docs/swagger-ui.css', headers)).toMatchObject({
      status,
      headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
      body: { error: 3005 },
    });
  });

  it('its page has the style that fits it to a phone', async () =>
    expect((await get('/docs')).text).toContain('@media (max-width: 640px)'));

  it('all files that the page names exist', async () => {
    for (const [page, base] of [
      ['/docs', '/'],
      ['/docs/', '/docs/'],
    ] as const) {
      const { text } = await get(page);
      expect(text.match(/<title>.*/g)).toEqual(['<title>Plant Store</title>']);
      const files = text.matchAll(/(?:href|src)=["']\.\/([^"']+)["']/g);
      const names = Array.from(files, ([, name = '']) => name);
      expect(names).toHaveLength(6);
      for (const name of names) expect((await get(`${base}${name}`)).status).toBe(200);
    }
  });

  it.each([
    ...['package.json', 'README.md', 'index.html', 'swagger-ui.js', '..%2fpackage.json'],
    ...[
      '/swagger-ui.js.map',
      './swagger-ui.js.map',
      'x/../package.json',
      'x/..%2fpackage.json',
      '/',
    ],
  ])('no other file of Swagger UI is served: %s', async (name) =>
    expect((await get(`/docs/${name}`)).status).toBe(404),
  );

  it.each([
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 302],
    ['*/*', 404],
    ['application/json', 404],
  ])('the bare address, Accept: %s: %i', async (accept, expected) => {
    const { status, headers } = await get('/', { accept });
    // Relative, so that it holds behind a proxy that adds a path.
    expect([status, headers.location]).toEqual([expected, expected === 302 ? 'docs' : undefined]);
  });

  it('PUBLIC_URL: its links and its server are there', async () => {
    const url = 'https://plants.example/v1';
    const proxied = await Service.start({ PUBLIC_URL: `${url}/` });
    const send = (method: string, path: string) => proxied.client.send({ method, path });
    const { text } = await send('GET', '/docs/swagger-ui-init.js');
    expect(text).toContain(`[openapi.json](${url}/openapi.json)`);
    expect(text).toContain(`"servers": [\n      {\n        "url": "${url}"\n      }\n    ]`);
    await proxied.stop();
  });

  it.each(['POST', 'DELETE', 'OPTIONS'])('%s: 404', async (method) => {
    for (const path of ['/docs', '/docs/swagger-ui.css', '/openapi.json', '/openapi.yaml'])
      expect((await service.client.send({ method, path })).status).toBe(404);
  });
});

describe('DOCS=off', () => {
  let off: Service;
  beforeAll(async () => void (off = await Service.start({ DOCS: 'off' })));
  afterAll(() => off.stop());

  it.each(['/', '/docs', '/docs/', '/docs/swagger-ui.css', '/openapi.json', '/openapi.yaml'])(
    'responds to %s with 404',
    async (path) => {
      const headers = { accept: 'text/html' };
      const message = expect.stringMatching(/^no such path: there is [^;]*POST \/plants[^;]*$/);
      const refusal = { status: 404, body: { error: 3000, message } };
      expect(await off.client.send({ method: 'GET', path, headers })).toMatchObject(refusal);
    },
  );
});
