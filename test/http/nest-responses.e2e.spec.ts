/** @engine sqlite */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NotesService, ORIGIN } from './notes.module.js';

let notes: NotesService;
beforeAll(async () => {
  notes = await NotesService.start();
});
afterAll(() => notes.service.stop());

it.each([
  ['file', 200, 'a stream', { 'content-type': 'text/markdown' }],
  [
    ...(['headers', 203, { isSet: true }] as const),
    { 'cache-control': 'max-age=60', 'x-mine': 'yes', 'set-cookie': 'a=1; Path=/' },
  ],
  ['own', 202, { own: true }, {}],
])('GET /notes/%s, what a handler returns: %i', async (path, status, body, headers) => {
  const response = await notes.send('GET', `/notes/${path}`);
  expect(response).toMatchObject({ status, body });
  expect(response.headers).toMatchObject({
    'x-request-id': expect.any(String),
    'x-content-type-options': 'nosniff',
    ...headers,
  });
});

describe('the methods of a path', () => {
  it.each([
    ['DELETE', '/notes', 'GET, HEAD, POST'],
    ['PUT', '/notes/7?a=1', 'GET, HEAD, POST'],
    ['PUT', '/notes/forms/x', 'GET, HEAD'],
  ])('%s %s: 405, Allow: %s', async (method, path, allow) => {
    const { status, headers, body } = await notes.send(method, path);
    const [bare] = path.split('?');
    expect({ status, allow: headers.allow, body }).toEqual({
      status: 405,
      allow,
      body: { error: 3001, message: `method not allowed: only ${allow} ${bare}; see /docs` },
    });
  });

  it('middleware of one method is none of them', async () => {
    const refusal = { status: 404, body: { error: 3000 } };
    expect(await notes.send('POST', '/nowhere')).toMatchObject(refusal);
  });

  it('those of CORS too', async () => {
    const headers = { origin: ORIGIN, 'access-control-request-method': 'POST' };
    expect(await notes.send('OPTIONS', '/notes/7', { headers })).toMatchObject({
      status: 204,
      headers: { 'access-control-allow-methods': 'GET,HEAD,POST' },
    });
  });
});
