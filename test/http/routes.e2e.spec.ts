/** @engine sqlite */
import { METHODS } from 'node:http';
import type { Router } from 'express';
import { describe, expect, it } from '@jest/globals';
import { AUDIENCE, IdentityProvider } from '../support/identity-provider.js';
import { PROXIED } from '../support/proxied.js';
import { service, startService } from '../support/own.js';
import { Service } from '../support/service.js';

/** Routes that need no token: of the document, Swagger UI and the redirect to that (test/docs/docs.e2e.spec.ts). */
const PUBLIC = [/^GET \/openapi\.(json|yaml)$/, /^GET \/docs(\/|$)/, /^GET \/$/];

startService();

/** The routes of the router but for the public ones, as `METHOD /path`. */
function listGuarded({ app } = service): string[] {
  const { router } = app.getHttpAdapter().getInstance() as { router: Router };
  const routes = router.stack.flatMap(({ route }) => {
    if (!route) return [];
    const { path } = route;
    // Missing in Express's types: the methods, by their names in lower case.
    const { methods } = route as unknown as { methods: Record<string, boolean> };
    return Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`);
  });
  return routes.filter((route) => !PUBLIC.some((one) => one.test(route)));
}

it('every route but the public ones responds with 401 without a token', async () => {
  const guarded = listGuarded();
  expect(guarded).toContain('POST /plants');
  for (const route of guarded) {
    const [method = '', path = ''] = route.split(' ');
    const { status, body } = await service.client.send({ method, path, headers: {} });
    expect({ route, status, body }).toMatchObject({ route, status: 401, body: { error: 2000 } });
  }
});

const NO_SUCH_PATH = {
  error: 3000,
  message: expect.stringMatching(
    /^no such path: there is (.*, )?POST \/plants(, .*)?; documentation at \/docs$/,
  ),
};

describe('another path: 404', () => {
  const paths = [
    '/',
    '/plants/',
    '//plants',
    '/x/../plants',
    '/nowhere/7',
    '/PLANTS',
    '/plantsx',
    '/plants;x',
    '/plants%2f',
    // nginx itself refuses it: test/proxy/refusals.
    ...(PROXIED ? [] : ['/%00']),
    // The management port has these.
    ...['/livez', '/readyz', '/metrics'],
    '/docs/x',
    `/${'x'.repeat(300)}`,
  ];
  it.each(paths)('%s', async (path) => {
    for (const method of ['POST', 'GET', 'DELETE', 'OPTIONS']) {
      const body = '{"id":1,"name":"oak"}';
      const headers = { ...service.client.headers, 'content-length': `${body.length}` };
      const response = await service.client.send({ method, path, headers, body });
      expect(response).toMatchObject({ status: 404, body: NO_SUCH_PATH });
    }
    expect(await service.store.count()).toBe(0);
  });

  it('responds to HEAD with the same status and no body', async () => {
    const get = await service.client.send({ method: 'GET', path: '/x' });
    const { status, headers, text } = await service.client.send({ method: 'HEAD', path: '/x' });
    expect({ status, text }).toEqual({ status: 404, text: '' });
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': `${get.text.length}`,
    });
  });
});

// CONNECT has no path (RFC 9110, section 9.3.6): Node closes its connection.
it.each(METHODS.filter((method) => !['POST', 'CONNECT'].includes(method)))(
  'another method on /plants: 405: %s',
  async (method) => {
    const response = await service.client.send({ method, headers: {} });
    const message = 'method not allowed: only POST /plants';
    expect(response).toMatchObject({
      status: 405,
      headers: { allow: 'POST', 'content-type': expect.stringMatching(/^application\/json/) },
      body: method === 'HEAD' ? undefined : { error: 3001, message },
    });
  },
);

it.each(['?', '?id=5&name=x', '?%ff', '?a[b]=c&a[__proto__]=d'])(
  'the query of /plants%s is ignored',
  async (query) => {
    const path = `/plants${query}`;
    const response = await service.client.send({ path, body: '{"id":7,"name":"oak"}' });
    expect(response).toMatchObject({ status: 200, body: { name: 'oak' } });
    expect(await service.store.plants()).toEqual([{ id: 7n, name: 'oak', tag: null }]);
  },
);

it.each(['/plants%', '/%zz', '/plants/%ff', '/%c3'])('malformed path %s: 400', async (path) => {
  for (const method of ['POST', 'GET']) {
    // nginx itself refuses what has no hexadecimal digits.
    const isOfProxy = PROXIED && !/%[\da-f]{2}/.test(path);
    const message = isOfProxy ? 'the request is not valid HTTP' : 'the path is malformed';
    const response = await service.client.send({ method, path });
    expect(response).toMatchObject({ status: 400, body: { error: 3002, message } });
  }
});

// The last test: Passport has one strategy for all applications of a process.
it('every route but the public ones responds with 403 to a valid token without a scope', async () => {
  const provider = await IdentityProvider.start();
  const own = await Service.start(provider.env);
  const claims = { iss: provider.url, aud: AUDIENCE, sub: 'x', exp: Date.now() / 1_000 + 600 };
  const headers = { authorization: `Bearer ${await provider.key().sign(claims)}` };
  for (const route of listGuarded(own)) {
    const [method = '', path = ''] = route.split(' ');
    const response = await own.client.send({ method, path, headers });
    expect({ route, response }).toMatchObject({ response: { status: 403, body: { error: 2002 } } });
  }
  await own.stop();
  await provider.stop();
});
