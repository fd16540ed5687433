import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Service } from './support/service.js';
import type { Sent } from './support/received.js';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

/** Headers of every answer to a request for JSON; those of the connection left out. */
const EVERY = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

describe('headers of a JSON answer', () => {
  const plant = '{"id":1,"name":"öak"}';
  const answers: [status: number, request: Sent, more: Record<string, string>][] = [
    [200, { body: plant }, { 'content-length': '15' }],
    [400, { body: '' }, {}],
    [400, { path: '/%' }, {}],
    [401, { headers: {} }, { 'www-authenticate': 'Bearer realm="plant-store"' }],
    [404, { path: '/x' }, {}],
    [405, { method: 'PUT' }, { allow: 'POST' }],
  ];
  it.each(answers)('%i', async (status, request, more) => {
    const answer = await service.client.send(request);
    expect(answer.status).toBe(status);
    const {
      date,
      connection,
      'keep-alive': keepAlive,
      'x-request-id': id,
      ...headers
    } = answer.headers;
    expect(id).toMatch(/^[\da-f]{24}$/);
    const length = `${Buffer.byteLength(answer.text)}`;
    expect(headers).toEqual({ ...EVERY, 'content-length': length, ...more });
    expect(new Date(date ?? '').getTime()).not.toBeNaN();
    expect({ connection, keepAlive }).toEqual({
      connection: 'keep-alive',
      keepAlive: 'timeout=75',
    });
  });
});

describe('the document and its UI', () => {
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
    '%s: a browser that has it is told so',
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

  it('the page names its files by their version, and all of them are there', async () => {
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
    'nothing else of Swagger UI is served: %s',
    async (name) => {
      const path = `/docs/${name}`;
      const { status } = await service.client.send({ method: 'GET', path, headers: {} });
      expect(status).toBe(404);
    },
  );

  it('what is not there under them is a 404 like any other', async () => {
    const { status, body } = await service.client.send({ method: 'GET', path: '/docs/x' });
    expect({ status, body }).toEqual({
      status: 404,
      body: { error: 3000, message: 'no such path' },
    });
  });
});
