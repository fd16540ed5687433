/** @engine sqlite */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NotesService } from './notes.module.js';
import { pointerTo, valueAt, type Json } from '../support/published.js';

let notes: NotesService;
beforeAll(async () => {
  notes = await NotesService.start();
});
afterAll(() => notes.service.stop());

describe('POST /plants', () => {
  it('passes through middleware, and its response through interceptors', async () => {
    const { status, headers, body } = await notes.create('/plants?a=1');
    expect({ status, body }).toEqual({
      status: 200,
      body: { name: 'oak', global: true },
    });
    expect(headers).toMatchObject({
      'x-app-use': 'seen',
      'x-module-middleware': 'POST /plants',
      'x-global-interceptor': 'seen',
      'x-request-id': expect.any(String),
      'cache-control': 'no-store',
      ratelimit: expect.any(String),
    });
  });

  it.each(['1e30', '1.5', '"7"'])('passes through a global ValidationPipe: id %s', async (id) => {
    expect(await notes.create('/plants', `{"id":${id},"name":"oak"}`)).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/^id must be an integer from -2\^63 to 2\^63-1/) },
    });
  });

  it('passes a refusal through middleware', async () => {
    const { status, headers } = await notes.send('POST', '/plants', { body: '{}' });
    expect(status).toBe(401);
    expect(headers).toMatchObject({ 'x-app-use': 'seen', 'x-module-middleware': 'POST /plants' });
  });
});

describe('what a handler takes', () => {
  it.each([
    [
      ...(['GET', '/notes?a=1&b=2', 200] as const),
      { query: { a: '1', b: '2' }, ip: '127.0.0.1', path: '/notes', originalUrl: '/notes?a=1&b=2' },
    ],
    ['POST', '/notes', 201, { query: {}, agent: 'me' }],
    ['GET', '/notes/7?a=1', 200, { id: 7, a: '1' }],
  ])(
    '%s %s: @Query(), @Param() with ParseIntPipe, @Req(), through middleware and interceptors',
    async (method, path, status, body) => {
      expect(await notes.send(method, path, { headers: { 'x-agent': 'me' } })).toMatchObject({
        status,
        body,
        headers: {
          'x-app-use': 'seen',
          'x-module-middleware': `${method} ${path.split('?', 1)[0]}`,
          'x-global-interceptor': 'seen',
        },
      });
    },
  );

  it('ValidationPipe on the @Body() of an @Authenticated() operation', async () => {
    const post = (body: string) => notes.create('/notes/valid', body);
    expect(await post('{"text":"short"}')).toMatchObject({
      status: 201,
      body: { isDto: true, note: { text: 'short' } },
    });
    expect(await post('{"text":"too long"}')).toMatchObject({
      status: 400,
      body: { error: 3005, message: 'text must be shorter than or equal to 5 characters' },
    });
    expect(await post('{')).toMatchObject({ status: 400, body: { error: 1000 } });
  });

  it('a repository of its own, whose integers are numbers if a double holds them', async () => {
    const headers = { 'content-type': 'application/json' };
    const post = (path: string) => notes.send('POST', path, { headers, body: '{"text":"a"}' });
    const response = {
      saved: 1,
      found: { id: 1, text: 'a', stars: 7, big: null },
      most: 7,
      count: 1,
    };
    expect(await post('/notes/stored')).toMatchObject({ status: 201, body: response });
    expect(await post('/notes/stored?big=12')).toMatchObject({
      body: { saved: 2, found: { big: 12 }, count: 2 },
    });
    const { text } = await post('/notes/stored?big=9007199254740993');
    expect(text).toContain('"big":9007199254740993}');
  });

  const INT64 = 'must be an integer from -2^63 to 2^63-1';
  const MAX = '9223372036854775807';

  // Others: src/http/int64.spec.ts.
  it('ParseInt64Pipe: a bigint goes out with its digits; what is none is refused with 400', async () => {
    const text = `{"id":${MAX},"isBig":true}`;
    expect(await notes.send('GET', `/notes/big/${MAX}`)).toMatchObject({ status: 200, text });
    const body = { error: 3005, message: `id ${INT64}` };
    expect(await notes.send('GET', '/notes/big/%20')).toMatchObject({ status: 400, body });
  });

  it.each([
    ['{"id":7}', `{"id":7,"isBig":true}`],
    [`{"id":${MAX},"next":7.0}`, `{"id":${MAX},"next":7,"isBig":true}`],
  ])('@IsInt64() takes %s as a bigint', async (body, text) => {
    expect(await notes.create('/notes/big', body)).toMatchObject({ status: 200, text });
  });

  it.each([
    ['{}', 'id is missing'],
    ['{"id":1.5}', `id ${INT64}`],
    ['{"id":7,"next":null}', `next ${INT64}`],
  ])('@IsInt64() refuses %s', async (body, message) => {
    const refusal = { status: 400, body: { error: 3005, message } };
    expect(await notes.create('/notes/big', body)).toMatchObject(refusal);
  });

  it('an operation of another scope refuses tokens of the service', async () => {
    expect(await notes.create('/notes/other')).toMatchObject({
      status: 403,
      headers: {
        'www-authenticate':
          'Bearer realm="plant-store", error="insufficient_scope", scope="notes:other"',
      },
      body: { error: 2002, message: 'the token lacks the scope notes:other' },
    });
  });

  it('the scope of an operation comes before that of its controller', async () => {
    expect(await notes.create('/drafts')).toMatchObject({ status: 403, body: { error: 2002 } });
    expect(await notes.create('/drafts/own')).toMatchObject({ status: 201 });
  });

  it('an operation that names no scope is for nobody', async () => {
    const refusal = { status: 500, body: { error: 5000 } };
    expect(await notes.create('/notes/unscoped')).toMatchObject(refusal);
  });

  it('an operation whose body is of another type', async () => {
    const headers = { ...notes.service.client.headers, 'content-type': 'text/plain' };
    const response = await notes.send('POST', '/notes/text', { headers, body: 'oak' });
    expect(response).toMatchObject({ status: 200, body: { text: 'oak' } });
  });

  it('a body may be missing', async () => {
    const { authorization } = notes.service.client.headers;
    const init = { headers: { authorization } as Record<string, string> };
    expect(await notes.send('POST', '/notes/mine', init)).toMatchObject({ status: 200 });
  });

  it('@Authenticated() documents the errors of its own operation only', async () => {
    const { body } = await notes.send('GET', '/openapi.json');
    const listErrors = (path: string, status: number) => {
      const response = `${pointerTo('/paths', path)}/post/responses/${status}`;
      return Object.keys(
        valueAt(body as Json, `${response}/content/application~1json/examples`) as object,
      );
    };
    expect(listErrors('/notes/mine', 400)).toEqual(['BAD_REQUEST']);
    const [json, type, large] = ['INVALID_JSON', 'MEDIA_TYPE', 'TOO_LARGE'];
    expect(listErrors('/notes/big', 400)).toEqual([json, type, large, 'BAD_REQUEST']);
    expect(listErrors('/notes/big', 404)).toEqual(['NO_SUCH_PATH']);
  });

  it('a second @Authenticated() operation', async () => {
    const body = '[1]';
    expect(await notes.send('POST', '/notes/mine', { body })).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer realm="plant-store"' },
      body: { error: 2000 },
    });
    const before = await notes.create('/notes/mine', body);
    expect(before).toMatchObject({ status: 200, body: { body: [1], principal: 'test' } });
    // One limit for all operations.
    const left = ({ headers }: typeof before) =>
      Number(/r=(\d+)/.exec(headers.ratelimit ?? '')?.[1]);
    expect(left(await notes.create('/plants'))).toBe(left(before) - 1);
  });
});

it('a handler sets the status and headers, also those that the service sets', async () => {
  const { status, headers, body } = await notes.send('GET', '/notes/headers');
  expect({ status, body }).toEqual({ status: 203, body: { isSet: true } });
  expect(headers).toMatchObject({
    'x-request-id': expect.any(String),
    'x-content-type-options': 'nosniff',
    'cache-control': 'max-age=60',
    'x-mine': 'yes',
    'set-cookie': 'a=1; Path=/',
  });
});

it.each([
  ['/notes', 'GET, HEAD, POST', '/notes'],
  ['/notes/7?a=1', 'GET, HEAD, POST', '/notes/:id'],
  ['/notes/headers', 'GET, HEAD, POST', '/notes/headers'],
  ['/notes/forms/x%2fy', 'GET, HEAD', '/notes/forms/:name'],
])(
  'another method on its path %s: 405, with the methods of its routes',
  async (path, allow, route) => {
    const message = `method not allowed: only ${allow} ${route}`;
    const refusal = { status: 405, headers: { allow }, body: { error: 3001, message } };
    expect(await notes.send('PUT', path)).toMatchObject(refusal);
  },
);

it('a parameter that cannot be decoded is refused', async () => {
  const refusal = { status: 400, body: { error: 3002 } };
  for (const method of ['GET', 'PUT'])
    expect(await notes.send(method, '/notes/%ff')).toMatchObject(refusal);
  // The log of requests finds its route later.
  await new Promise(setImmediate);
});

it.each(['/notes/', '/notes/7/', '/notes/forms/x/y', '/nowhere'])(
  '%s has no route: 404',
  async (path) => {
    for (const method of ['GET', 'PUT'])
      expect(await notes.send(method, path)).toMatchObject({ status: 404, body: { error: 3000 } });
  },
);
