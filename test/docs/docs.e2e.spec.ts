/** @engine sqlite */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { published, read, type JsonObject } from '../support/published.js';
import { Service } from '../support/service.js';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

const get = (path: string) => service.client.send({ method: 'GET', path, headers: {} });

describe('the document and its UI', () => {
  it('serves openapi.json as `npm run openapi` writes it', async () => {
    const document = JSON.parse((await get('/openapi.json')).text) as JsonObject;
    expect(document.servers).toMatchObject([{ url: 'http://127.0.0.1:0' }, { url: '/' }]);
    document.servers = published.servers ?? [];
    expect(read('openapi.json')).toBe(`${JSON.stringify(document, null, 2)}\n`);
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
  ])('%s', async (path, type) => {
    const { status, headers } = await service.client.send({ method: 'GET', path, headers: {} });
    expect(status).toBe(200);
    expect(headers['content-type']).toContain(type);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    });
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'self'");
    expect(policy).not.toContain('script-src');
    expect(headers).not.toHaveProperty('x-powered-by');
  });

  it.each(['/docs', '/docs/swagger-ui-bundle.js', '/openapi.json'])(
    '%s: answers 304 to a browser that has it',
    async (path) => {
      const get = (headers: Record<string, string>) =>
        service.client.send({ method: 'GET', path, headers });
      const { headers } = await get({});
      const { etag = '' } = headers;
      expect(headers['cache-control']).toMatch(
        path.endsWith('.js') ? /^public, max-age=31536000, immutable$/ : /^no-cache$/,
      );
      expect(await get({ 'if-none-match': etag })).toMatchObject({ status: 304, text: '' });
      expect(await get({ 'if-none-match': '"x"' })).toMatchObject({ status: 200 });
      const head = await service.client.send({ method: 'HEAD', path, headers: {} });
      expect(head).toMatchObject({ status: 200, text: '' });
      expect(head.headers['content-length']).toBe(headers['content-length']);
    },
  );

  it('the page names its files by version, and all of them exist', async () => {
    for (const [page, base] of [
      ['/docs', '/'],
      ['/docs/', '/docs/'],
    ] as const) {
      const { text } = await service.client.send({ method: 'GET', path: page, headers: {} });
      const names = [...text.matchAll(/(?:href|src)="\.\/([^"]+)"/g)].map(([, name = '']) => name);
      expect(names).toHaveLength(5);
      for (const name of names) {
        const path = `${base}${name}`;
        expect((await service.client.send({ method: 'GET', path, headers: {} })).status).toBe(200);
      }
    }
  });

  it.each(['package.json', 'README.md', 'index.html', 'swagger-ui.js', '..%2fpackage.json'])(
    'no other file of Swagger UI is served: %s',
    async (name) => {
      const path = `/docs/${name}`;
      const { status } = await service.client.send({ method: 'GET', path, headers: {} });
      expect(status).toBe(404);
    },
  );

  it('the bare address answers 404 with links to them', async () => {
    const { status, body } = await get('/');
    expect({ status, body }).toEqual({
      status: 404,
      body: { error: 3000, message: 'no such path; the documentation is at /docs' },
    });
    const proxied = await Service.start({ PUBLIC_URL: 'https://plants.example/v1/' });
    const { body: of } = await proxied.client.send({ method: 'GET', path: '/' });
    expect(of).toMatchObject({
      message: expect.stringMatching(/ https:\/\/plants.example\/v1\/docs$/),
    });
    await proxied.stop();
  });

  it('unknown paths below them answer 404 like any other', async () => {
    const { status, body } = await service.client.send({ method: 'GET', path: '/docs/x' });
    expect({ status, body }).toEqual({
      status: 404,
      body: { error: 3000, message: 'no such path' },
    });
  });
});

describe('DOCS=off', () => {
  let off: Service;
  beforeAll(async () => void (off = await Service.start({ DOCS: 'off' })));
  afterAll(() => off.stop());

  it.each(['/', '/docs', '/docs/', '/docs/swagger-ui.css', '/openapi.json', '/openapi.yaml'])(
    'answers %s with 404',
    async (path) => {
      const { status, body } = await off.client.send({ method: 'GET', path });
      expect({ status, body }).toEqual({
        status: 404,
        body: { error: 3000, message: 'no such path' },
      });
    },
  );

  it('POST /plants still works', async () => {
    const { status, body } = await off.client.create({ id: 1n, name: 'oak' });
    expect({ status, body }).toEqual({ status: 200, body: { name: 'oak' } });
  });
});
