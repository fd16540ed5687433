import type { Router } from 'express';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Service } from './support/service.js';

/** Routes that anyone may ask; every other one wants a token. */
const PUBLIC: Readonly<Record<string, RegExp>> = {
  'another method on /plants: 405': /^(?!POST)[A-Z-]+ \/plants$/,
  'the document': /^GET \/openapi\.(json|yaml)$/,
  'Swagger UI': /^GET \/docs(\/|$)/,
};

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

/** What the router knows, as `METHOD /path`. */
function routes(): string[] {
  const { router } = service.app.getHttpAdapter().getInstance() as { router: Router };
  return router.stack.flatMap(({ route }) => {
    if (!route) return [];
    const { path } = route;
    // Express's types leave this out: the methods, each under its name in lower case.
    const { methods } = route as unknown as { methods: Record<string, boolean> };
    return Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`);
  });
}

it('every route answers 401 to a request without a token, but for the public ones', async () => {
  const isPublic = (route: string) => Object.values(PUBLIC).some((one) => one.test(route));
  const guarded = routes().filter((route) => !isPublic(route));
  expect(guarded).toContain('POST /plants');
  for (const route of guarded) {
    const [method = '', path = ''] = route.split(' ');
    const { status, body } = await service.client.send({ method, path, headers: {} });
    expect({ route, status, body }).toEqual({
      route,
      status: 401,
      body: { error: 2000, message: 'no bearer token' },
    });
  }
});

it.each(Object.entries(PUBLIC))('the public routes are there: %s', (_name, route) => {
  expect(routes().some((one) => route.test(one))).toBe(true);
});
