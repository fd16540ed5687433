/** @engine sqlite */
import { request, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { service, startService } from '../support/own.js';

startService();

describe.each([
  ...['/docs', '/docs/', '/docs/swagger-ui-init.js', '/openapi.json', '/openapi.yaml'],
  ...['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js'].map(
    (name) => `/docs/${name}`,
  ),
])('%s', (path) => {
  /** Sends a request whose response is not decoded. */
  const fetchRaw = async (headers = {}, method = 'GET') => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const url = `http://127.0.0.1:${service.port}${path}`;
    request(url, { method, headers }, resolve).on('error', reject).end();
    const response = await promise;
    const { statusCode: status, headers: received } = response;
    return { status, headers: received, body: await buffer(response) };
  };

  it('is compressed for clients that prefer that, and the same for others', async () => {
    const plain = await fetchRaw();
    const { etag, 'content-type': type } = plain.headers;
    expect(etag).toMatch(/^W\/"[\w-]{43}"$/);
    for (const coding of ['gzip', 'br, GZIP;q=0.5', '*', 'gzip, identity;q=0', 'gzip;q=0, *;q=0']) {
      const isGzip = !coding.includes('q=0, *');
      for (const method of ['GET', 'HEAD']) {
        const { headers, body } = await fetchRaw({ 'accept-encoding': coding }, method);
        expect({ coding, ...headers }).toMatchObject({
          etag,
          'content-type': type,
          vary: 'Accept-Encoding',
        });
        expect([coding, headers['content-encoding']]).toEqual([
          coding,
          isGzip ? 'gzip' : undefined,
        ]);
        if (method === 'HEAD') {
          expect(body).toHaveLength(0);
          continue;
        }
        expect(`${body.length}`).toBe(headers['content-length']);
        expect(plain.body.equals(isGzip ? gunzipSync(body) : body)).toBe(true);
      }
    }
    for (const coding of ['', 'br', 'identity', 'gzip;q=0', 'gzip;q=0.5, identity', 'x-gzip'])
      expect((await fetchRaw({ 'accept-encoding': coding })).headers).toMatchObject({
        etag,
        vary: 'Accept-Encoding',
        'content-length': `${plain.body.length}`,
      });
  });

  it.each(['gzip', 'identity'])('is not sent again to a client that has it: %s', async (coding) => {
    const { etag = '' } = (await fetchRaw()).headers;
    for (const method of ['GET', 'HEAD'])
      for (const [known, status] of [
        [etag, 304],
        [`"x", ${etag}`, 304],
        // RFC 9110, section 13.1.2: weak comparison, and any representation.
        [etag.slice(2), 304],
        ['*', 304],
        ['"x"', 200],
        ['W/"x"', 200],
      ] as const) {
        const headers = { 'accept-encoding': coding, 'if-none-match': known };
        const response = await fetchRaw(headers, method);
        expect([method, known, response.status]).toEqual([method, known, status]);
        expect(response.headers).toMatchObject({ etag, 'cache-control': expect.any(String) });
        expect(response.headers.vary).toContain('Accept-Encoding');
        if (status === 200) continue;
        expect(response.body).toHaveLength(0);
        for (const name of ['content-encoding', 'content-type'])
          expect(response.headers).not.toHaveProperty(name);
      }
  });
});

it('a part of a file, and a file on a condition, are those without compression', async () => {
  const path = '/docs/swagger-ui.css';
  const { text } = await service.client.send({ method: 'GET', path, headers: {} });
  const send = (more: Record<string, string>) =>
    service.client.send({ method: 'GET', path, headers: { 'accept-encoding': 'gzip', ...more } });
  const part = await send({ range: 'bytes=0-9' });
  expect(part).toMatchObject({ status: 206, text: text.slice(0, 10) });
  expect(part.headers).not.toHaveProperty('content-encoding');
  const once = new Date(0).toUTCString();
  expect(await send({ 'if-unmodified-since': once })).toMatchObject({ status: 412 });
});
