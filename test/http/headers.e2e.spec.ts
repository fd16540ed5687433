/** @engine sqlite */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PROXIED } from '../support/proxied.js';
import { service, startService } from '../support/own.js';
import { Service } from '../support/service.js';
import type { Sent } from '../support/received.js';

startService();

/** Headers of every JSON response. */
const EVERY = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const responses: [status: number, request: Sent, more: Record<string, string>][] = [
  [200, { body: '{"id":1,"name":"öak"}' }, { 'content-length': '15' }],
  [400, { body: '' }, {}],
  [400, { path: '/%ff' }, {}],
  [401, { headers: {} }, { 'www-authenticate': 'Bearer realm="plant-store"' }],
  [404, { path: '/x' }, {}],
  [405, { method: 'PUT' }, { allow: 'POST' }],
];
it.each(responses)('the headers of a JSON response of status %i', async (status, request, more) => {
  const response = await service.client.send(request);
  expect(response.status).toBe(status);
  expect(response.headers).toEqual({
    ...EVERY,
    'content-length': `${Buffer.byteLength(response.text)}`,
    date: expect.stringMatching(/ GMT$/),
    connection: 'keep-alive',
    'keep-alive': 'timeout=75',
    // nginx makes ids without dashes, and names itself.
    'x-request-id': expect.stringMatching(PROXIED ? /^[\da-f]{32}$/ : /^[\da-f-]{36}$/),
    ...(PROXIED && { server: 'nginx' }),
    ...more,
  });
});

const ORIGIN = 'https://garden.example';
const PREFLIGHT = {
  origin: ORIGIN,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type',
};
const body = '{"id":2,"name":"n"}';
const ofCors = (headers: object) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

it('by default pages of other origins may not call the service', async () => {
  const preflight = await service.client.send({ method: 'OPTIONS', headers: PREFLIGHT });
  const response = await service.client.post(body, { ...service.client.headers, origin: ORIGIN });
  expect([preflight.status, response.status]).toEqual([405, 200]);
  expect(ofCors({ ...preflight.headers, ...response.headers })).toEqual([]);
});

describe('with CORS_ORIGINS', () => {
  let service: Service;
  beforeAll(async () => {
    service = await Service.start({ CORS_ORIGINS: `${ORIGIN},https://field.example` });
  });
  afterAll(() => service.stop());

  it('a page of a listed origin may call the service', async () => {
    const { client, port } = service;
    const url = `http://127.0.0.1:${port}/plants`;
    const preflight = await fetch(url, { method: 'OPTIONS', headers: PREFLIGHT });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers':
        'Authorization,Content-Type,X-Request-Id,traceparent,tracestate,baggage',
      'access-control-max-age': '600',
      vary: expect.stringContaining('Origin'),
      'x-request-id': expect.any(String),
    });
    for (const headers of [client.headers, {}]) {
      const response = await client.post(body, { ...headers, origin: ORIGIN });
      expect(response.headers).toMatchObject({
        'access-control-allow-origin': ORIGIN,
        vary: 'Origin',
      });
      expect(response.headers['access-control-allow-credentials']).toBeUndefined();
    }
  });

  it.each([
    ['/nope', {}, 404, 3000],
    ['/plants', {}, 405, 3001],
    ['/plants', { origin: ORIGIN }, 405, 3001],
  ])('OPTIONS %s %j is not a preflight of the operation', async (path, headers, status, error) => {
    const response = await service.client.send({ method: 'OPTIONS', path, headers });
    expect(response).toMatchObject({ status, body: { error } });
  });

  it('a page can read an error from before routing', async () => {
    const headers = { ...service.client.headers, origin: ORIGIN };
    expect(await service.client.send({ path: '/%ff', headers })).toMatchObject({
      status: 400,
      headers: { 'access-control-allow-origin': ORIGIN },
    });
  });

  it.each(['https://elsewhere.example', 'https://garden.example.evil', 'null'])(
    'a page of %s may not call the service',
    async (origin) => {
      const headers = { ...PREFLIGHT, origin };
      const url = `http://127.0.0.1:${service.port}/plants`;
      const preflight = await fetch(url, { method: 'OPTIONS', headers });
      expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
      const response = await service.client.post(body, { ...service.client.headers, origin });
      expect(response.headers['access-control-allow-origin']).toBeUndefined();
    },
  );
});
