/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { client, nginx, service, startBehindNginx } from './proxied-service.js';
import { Client } from '../support/client.js';
import { RawConnection } from '../support/raw-connection.js';

startBehindNginx();

const HOST = 'host: localhost\r\n';
const POST = `POST /plants HTTP/1.1\r\n${HOST}`;
const PLANT = '{"id":1,"name":"oak"}';
const INVALID = [400, 3002, 'the request is not valid HTTP'] as const;
const LONG = [400, 3002, 'the headers are too long: at most 100 fields and 16384 bytes'] as const;
const LARGE = [400, 1002, 'the body is larger than the limit'] as const;
const NO_PATH = [404, 3000, 'no such path'] as const;
const CODING = 'unsupported transfer coding: send `chunked`, or a Content-Length';
const NO_CODING = [501, 3003, CODING] as const;
const chunked = `${POST}transfer-encoding: chunked\r\n\r\n`;

describe('what nginx refuses itself has an Error body', () => {
  it.each([
    ['garbage', 'garbage\r\n\r\n', INVALID],
    ['the start of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', INVALID],
    ['U+0000 in the path', `GET /%00 HTTP/1.1\r\n${HOST}\r\n`, INVALID],
    ['HTTP/2.0', `POST /plants HTTP/2.0\r\n${HOST}\r\n`, INVALID],
    ['CONNECT', `CONNECT localhost:80 HTTP/1.1\r\n${HOST}\r\n`, INVALID],
    ['CONNECT with a path', `CONNECT /plants HTTP/1.1\r\n${HOST}\r\n`, INVALID],
    ['CONNECT with a URL', `CONNECT http://localhost/docs HTTP/1.1\r\n${HOST}\r\n`, INVALID],
    ['CONNECT in HTTP/1.0', `CONNECT /plants HTTP/1.0\r\n${HOST}\r\n`, INVALID],
    ['CONNECT, its length 0', `CONNECT /x HTTP/1.1\r\n${HOST}content-length: 0\r\n\r\n`, INVALID],
    ['a space after a header name', `${POST}content-length : 2\r\n\r\n{}`, INVALID],
    ['two lengths', `${POST}content-length: 2\r\ncontent-length: 3\r\n\r\n{} `, INVALID],
    ['a length and chunks', chunked.replace(HOST, `${HOST}content-length: 2\r\n`), INVALID],
    ['chunks in HTTP/1.0', chunked.replace('HTTP/1.1', 'HTTP/1.0'), INVALID],
    ['no Host', 'POST /plants HTTP/1.1\r\n\r\n', INVALID],
    ['two Hosts', `${POST}${HOST}\r\n`, INVALID],
    ['two tokens', `${POST}authorization: Bearer x\r\nauthorization: Bearer y\r\n\r\n`, INVALID],
    ['a header too large', `${POST}x: ${'x'.repeat(20_000)}\r\n\r\n`, LONG],
    ['thousands of header fields', `${POST}${'a:\r\n'.repeat(6_000)}\r\n`, LONG],
    ['a path too long', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`, LONG],
    ['a length over the limit', `${POST}content-length: 65537\r\n\r\n`, LARGE],
    ['chunks over the limit', `${chunked}10001\r\n${'x'.repeat(65_537)}\r\n0\r\n\r\n`, LARGE],
    ['another transfer coding', chunked.replace('chunked', 'gzip, chunked'), NO_CODING],
    [
      'TRACE with a length',
      `TRACE /plants HTTP/1.1\r\n${HOST}content-length: 2\r\n\r\n{}`,
      INVALID,
    ],
    [
      'TRACE with a length over the limit',
      `TRACE /plants HTTP/1.1\r\n${HOST}content-length: 65537\r\n\r\n`,
      LARGE,
    ],
    ['TRACE with chunks', `${chunked.replace('POST', 'TRACE')}1\r\nx\r\n0\r\n\r\n`, INVALID],
    ['TRACE with a bad chunk', `${chunked.replace('POST', 'TRACE')}zz\r\n`, INVALID],
    ['a path of its own', `GET /plant-store-error/5001 HTTP/1.1\r\n${HOST}\r\n`, NO_PATH],
  ])('%s', async (_name, bytes, [status, error, message]) => {
    const connection = (await RawConnection.open(nginx.port)).write(Buffer.from(bytes, 'latin1'));
    const method = status < 404 ? 'POST' : 'TRACE';
    const response = await connection.read({ method, path: '/plants' });
    expect(response).toMatchObject({ status, body: { error, message } });
    expect(response.headers).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Retry-After, X-Request-Id',
      'cache-control': 'no-store',
      connection: 'close',
      'content-length': `${response.text.length}`,
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'content-type': 'application/json',
      date: expect.any(String),
      server: 'nginx',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'x-request-id': expect.stringMatching(/^[\da-f]{32}$/),
    });
    connection.close();
    expect(await service.store.count()).toBe(0);
  });
});

it('TRACE, which nginx itself refuses, gets what the service says of the path', async () => {
  const response = await client.send({ method: 'TRACE', headers: {} });
  expect(response).toMatchObject({
    status: 405,
    body: { error: 3001, message: 'method not allowed: only POST /plants' },
    headers: { allow: 'POST' },
  });
  expect((await client.send({ method: 'TRACE', path: '/x', headers: {} })).status).toBe(404);
});

it('more than 40 requests of one address at once: 429; another address is served', async () => {
  const pending = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const connection = await RawConnection.open(nginx.port);
      connection.write(`${POST}content-length: 20\r\nexpect: 100-continue\r\n\r\n`);
      // From then on the request counts.
      expect((await connection.read()).status).toBe(100);
      return connection;
    }),
  );
  expect(await client.post(PLANT)).toMatchObject({
    status: 429,
    body: { error: 4000, message: 'too many requests at once' },
    headers: { 'retry-after': '1', 'content-type': 'application/json' },
  });
  // Whatever they are for.
  expect((await client.send({ method: 'GET', path: '/docs' })).status).toBe(429);
  using other = new Client(nginx.port, service.token, 1, false, '127.0.0.2');
  expect((await other.post(PLANT)).status).toBe(200);
  for (const connection of pending) connection.close();
  // nginx learns of it a moment later.
  let status = 429;
  while (status === 429) ({ status } = await client.post(PLANT));
  expect(status).toBe(200);
});

it('more pages of one address a second than people load: 429; plants are served', async () => {
  using browser = new Client(nginx.port, service.token, 1, false, '127.0.0.3');
  const get = () => browser.send({ method: 'GET', path: '/docs/favicon-16x16.png' });
  // A page with its files.
  for (let file = 0; file < 7; file++) expect((await get()).status).toBe(200);
  let page = await get();
  for (let pages = 0; pages < 500 && page.status === 200; pages++) page = await get();
  expect(page).toMatchObject({ status: 429, body: { error: 4000 } });
  expect((await browser.post(PLANT)).status).toBe(200);
});

it('more than 16 pages of one address at once: 429', async () => {
  // Fewer than the requests that it may have in progress, and than pages a second: nobody reads before all are sent.
  using browser = new Client(nginx.port, service.token, 32, false, '127.0.0.4');
  const get = () => browser.send({ method: 'GET', path: '/docs/swagger-ui-bundle.js' });
  const statuses = (await Promise.all(Array.from({ length: 32 }, get))).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
});
