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

  it('what is not there under them is a 404 like any other', async () => {
    const { status, body } = await service.client.send({ method: 'GET', path: '/docs/x' });
    expect({ status, body }).toEqual({
      status: 404,
      body: { error: 3000, message: 'no such path' },
    });
  });
});
