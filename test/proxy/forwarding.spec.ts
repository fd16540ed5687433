/** @engine sqlite */
import { connect } from 'node:tls';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { client, nginx, service, startBehindNginx } from './proxied-service.js';
import { Client } from '../support/client.js';
import { RawConnection } from '../support/raw-connection.js';

startBehindNginx({ TRUST_PROXY: '1', NODE_ENV: 'test' }, true);

const PLANT = '{"id":1,"name":"oak"}';
const HSTS = 'strict-transport-security';

/** Resolves once the service's log has a text. */
async function logged(text: string | RegExp): Promise<void> {
  const has = () => new RegExp(text).test(service.output);
  while (!has()) await once(service.stdout, 'data');
}

it('pages are compressed for browsers, and can be revalidated; plants are not', async () => {
  const gzip = { 'accept-encoding': 'gzip' };
  const files = ['/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css'];
  for (const path of [...files, '/docs', '/openapi.json', '/openapi.yaml']) {
    const { headers } = await fetch(`http://127.0.0.1:${nginx.port}${path}`, { headers: gzip });
    expect([path, headers.get('content-encoding')]).toEqual([path, 'gzip']);
    expect(headers.get('vary')).toMatch(/accept-encoding/i);
    // Not by fetch(), which asks caches for a new response.
    const known = { ...gzip, 'if-none-match': headers.get('etag') ?? '' };
    const { status } = await client.send({ method: 'GET', path, headers: known });
    expect([path, status]).toEqual([path, 304]);
  }
  const headers = { ...client.headers, ...gzip };
  expect((await client.send({ headers, body: PLANT })).headers).not.toHaveProperty(
    'content-encoding',
  );
});

describe('TLS', () => {
  it('every response has HSTS, also those of nginx itself; none has it without TLS', async () => {
    using secure = new Client(nginx.tlsPort, service.token, 1, true);
    for (const [path, status] of [
      ['/plants', 200],
      ['/x', 404],
      ['/%', 400],
    ] as const) {
      const response = await secure.send({ path, body: PLANT });
      expect({ path, status: response.status }).toEqual({ path, status });
      expect(response.headers[HSTS]).toBe('max-age=31536000');
      expect((await client.send({ path, body: PLANT })).headers).not.toHaveProperty(HSTS);
    }
  });

  it('HTTP on the port of HTTPS: 400', async () => {
    using plain = new Client(nginx.tlsPort, service.token, 1);
    expect(await plain.post(PLANT)).toMatchObject({ status: 400, body: { error: 3002 } });
  });

  it.each([
    ['TLSv1.3', true],
    ['TLSv1.2', true],
    ['TLSv1.1', false],
  ] as const)('%s: %s, and never HTTP/2', async (version, isSpoken) => {
    const socket = connect({
      port: nginx.tlsPort,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      minVersion: version,
      maxVersion: version,
      ALPNProtocols: ['h2', 'http/1.1'],
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    const connected = once(socket, 'secureConnect').then(
      () => [socket.getProtocol(), socket.alpnProtocol],
      () => undefined,
    );
    expect(await connected).toEqual(isSpoken ? [version, 'http/1.1'] : undefined);
    socket.destroy();
  });
});

it("the service logs the client's address, whatever the client says", async () => {
  const headers = {
    ...client.headers,
    'x-forwarded-for': '203.0.113.9',
    'x-request-id': 'address',
  };
  using other = new Client(nginx.port, service.token, 1, false, '127.0.0.2');
  expect((await other.post(PLANT, headers)).status).toBe(200);
  await logged(/address[^]*127\.0\.0\.2|127\.0\.0\.2[^]*address/);
  expect(service.output).not.toContain('203.0.113.9');
});

describe('the response and both logs have the same X-Request-Id', () => {
  it.each([
    ["the client's", 'nursery/7:a', /^nursery\/7:a$/],
    ["nginx's, without one", undefined, /^[\da-f]{32}$/],
    ["nginx's, instead of one that is not well-formed", 'a b', /^[\da-f]{32}$/],
  ])('%s', async (_name, sent, expected) => {
    const own = sent === undefined ? {} : { 'x-request-id': sent };
    const { status, headers } = await client.post(PLANT, { ...client.headers, ...own });
    const id = headers['x-request-id'] ?? '';
    expect({ status, id }).toEqual({ status: 200, id: expect.stringMatching(expected) });
    await logged(id);
    await nginx.logged(new RegExp(` ${id} 127.0.0.1:${service.port} 200$`, 'm'));
  });

  it.each([
    ['an unknown method', 'FOO', 'x'],
    ['a control character in a header', 'POST', '\x01'],
  ])('also where Node rejects %s', async (_name, method, value) => {
    using connection = await RawConnection.open(nginx.port);
    connection.write(`${method} /plants HTTP/1.1\r\nhost: localhost\r\nx: ${value}\r\n\r\n`);
    const { status, headers } = await connection.read();
    expect({ status, server: headers['server'] }).toEqual({ status: 400, server: 'nginx' });
    const id = headers['x-request-id'] ?? '';
    await nginx.logged(new RegExp(` ${id} 127.0.0.1:${service.port} 400$`, 'm'));
  });

  it('also where nginx responds itself', async () => {
    const own = { ...client.headers, 'x-request-id': 'refused' };
    const path = '/plant-store-error/5001';
    const { status, headers } = await client.send({ path, headers: own });
    expect({ status, id: headers['x-request-id'] }).toEqual({ status: 404, id: 'refused' });
    await nginx.logged(/"POST \/plant-store-error\/5001" 404 \S+ refused - -$/m);
  });

  it("the access log has no query, so no token of a client's mistake", async () => {
    await client.send({ path: '/plants?access_token=secret-of-a-query', headers: {} });
    await nginx.logged(/"POST \/plants" 401/);
    expect(nginx.accessLog).not.toContain('secret-of-a-query');
  });

  it('the access log has 200 characters of a path at most', async () => {
    await client.send({ method: 'GET', path: `/${'a'.repeat(10_000)}`, headers: {} });
    await nginx.logged(/"GET \/a{199}" 404/);
    await client.send({ method: 'GET', path: `/${'a'.repeat(190)}${service.token}`, headers: {} });
    await nginx.logged(/"" 404/);
  });

  it('the access log has nothing of a path with an encoded token', async () => {
    const secret = service.token.slice('plant_'.length);
    const starts = ['plant%5f', '%70lant_', `${'a'.repeat(190)}plan%74_`, 'PLANT_', '%65yJ'];
    for (const [index, start] of starts.entries()) {
      const headers = { 'x-request-id': `encoded-${index}` };
      await client.send({ method: 'GET', path: `/x/${start}${secret}`, headers });
      await nginx.logged(new RegExp(` "" 404 \\S+ encoded-${index} `));
    }
    expect(nginx.accessLog).not.toContain(secret);
  });
});
