/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { requestText } from '../support/raw-connection.js';
import { Service } from '../support/service.js';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

const POST = 'POST /plants HTTP/1.1\r\n';
const HOST = 'host: localhost\r\n';
/** The head of a plant's request whose body comes in chunks. */
const chunked = (coding = 'chunked') =>
  requestText({ ...service.client.headers, 'transfer-encoding': coding });
const LONG = 'the headers are too long: at most 100 fields and 16384 bytes';

describe('invalid HTTP: 400, an Error body, and the connection is closed', () => {
  it.each([
    ['garbage', 'garbage\r\n\r\n'],
    ['the start of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['an unknown method', `PLANT /plants HTTP/1.1\r\n${HOST}\r\n`],
    ['a blank in the path', `POST /pl ants HTTP/1.1\r\n${HOST}\r\n`],
    ['a header without a name', `${POST}${HOST}: x\r\n\r\n`],
    ['a space after a header name', `${POST}${HOST}content-length : 2\r\n\r\n{}`],
    ['a length that is not a number', `${POST}${HOST}content-length: x\r\n\r\n`],
    ['two lengths', `${POST}${HOST}content-length: 2\r\ncontent-length: 3\r\n\r\n{} `],
    [
      'a length and chunks (RFC 9112, section 6.3)',
      `${POST}${HOST}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['HTTP/2.0', `POST /plants HTTP/2.0\r\n${HOST}\r\n`],
    ['CONNECT', `CONNECT localhost:80 HTTP/1.1\r\n${HOST}\r\n`],
    ['a header too large', `${POST}${HOST}x: ${'x'.repeat(20_000)}\r\n\r\n`, LONG],
    ['thousands of header fields', `${POST}${HOST}${'a:\r\n'.repeat(2_000)}\r\n`, LONG],
  ])('%s', async (_name, bytes, ...[message = 'the request is not valid HTTP']) => {
    const connection = await service.connect();
    connection.write(Buffer.from(bytes, 'latin1'));
    const { status, headers, body } = await connection.read();
    expect(status).toBe(400);
    expect(body).toEqual({ error: 3002, message });
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      connection: 'close',
    });
    await connection.closed();
    expect(await service.store.count()).toBe(0);
  });

  it.each([
    ['bytes', 77n, '\0\0'],
    ['CONNECT', 78n, `CONNECT localhost:80 HTTP/1.1\r\n${HOST}\r\n`],
  ])(
    '%s after a whole request: that request is stored and gets 200, the rest is not',
    async (_, id, bytes) => {
      const connection = await service.connect();
      connection.write(requestText(service.client.headers, `{"id":${id},"name":"oak"}`) + bytes);
      expect(await connection.read()).toMatchObject({
        status: 200,
        headers: { connection: 'close' },
        body: { name: 'oak' },
      });
      await connection.closed();
      expect((await service.store.plant(id))?.name).toBe('oak');
      await expect(connection.read()).rejects.toThrow('the connection ended');
    },
  );

  it('right after the body of a refused request: each has its own response', async () => {
    const connection = await service.connect();
    connection.write(requestText({ 'content-length': '20' }));
    expect((await connection.read()).status).toBe(401);
    connection.write(`${'x'.repeat(20)}garbage\r\n\r\n`);
    expect(await connection.read()).toMatchObject({ status: 400, body: { error: 3002 } });
    await connection.closed();
  });

  it('in the body of a refused request: that request has no second response', async () => {
    const connection = await service.connect();
    connection.write(requestText({ 'transfer-encoding': 'chunked' }));
    expect((await connection.read()).status).toBe(401);
    connection.write('zz\r\n');
    await expect(connection.read()).rejects.toThrow(/^the connection ended after: $/);
  });

  it('a malformed chunk with a valid token: 400', async () => {
    const connection = await service.connect();
    connection.write(`${chunked()}zz\r\n{}\r\n`);
    expect(await connection.read()).toMatchObject({ status: 400, body: { error: 3002 } });
    await connection.closed();
  });
});

it('Host may be missing from HTTP/1.0 alone', async () => {
  const plant = requestText(service.client.headers, '{"id":1,"name":"oak"}').replace(HOST, '');
  expect(await service.sendBytes(plant)).toMatchObject({
    status: 400,
    body: { error: 3002, message: 'the Host header is missing' },
  });
  const connection = await service.connect();
  connection.write(plant.replace('HTTP/1.1', 'HTTP/1.0'));
  expect(await connection.read()).toMatchObject({ status: 200, body: { name: 'oak' } });
  await connection.closed();
});

describe('a repeated header that must be single: 400', () => {
  const AUTHORIZATION = 'authorization: Bearer x\r\n';
  it.each([
    ['Host', HOST, HOST],
    ['Host', HOST, 'HOST: elsewhere\r\n'],
    ['Host', HOST, `${'a:\r\n'.repeat(90)}Host: elsewhere\r\n`],
    ['Authorization', HOST, AUTHORIZATION],
    ['Authorization', HOST, `${AUTHORIZATION}Authorization: Bearer y\r\n`],
    ['Content-Type', HOST, 'Content-Type: text/plain\r\n'],
  ])('%s', async (name, before, more) => {
    const text = requestText(service.client.headers, '{"id":2,"name":"oak"}');
    expect(await service.sendBytes(text.replace(HOST, before + more))).toMatchObject({
      status: 400,
      body: { error: 3002, message: `there is more than one ${name} header` },
    });
    expect(await service.store.plant(2n)).toBeUndefined();
  });
});

it('a request has at most 100 header fields', async () => {
  const text = requestText(service.client.headers, '{"id":3,"name":"oak"}');
  const own = text.split('\r\n').indexOf('') - 1;
  for (const [fields, status] of [
    [100, 200],
    [101, 400],
  ] as const) {
    const bytes = text.replace(HOST, HOST + 'a:\r\n'.repeat(fields - own));
    expect((await service.sendBytes(bytes)).status).toBe(status);
  }
});

it.each(['gzip, chunked', 'x'])(
  'the transfer coding "%s": 501, nothing is stored',
  async (coding) => {
    const bytes = `${chunked(coding)}15\r\n{"id":4,"name":"oak"}\r\n0\r\n\r\n`;
    expect(await service.sendBytes(bytes)).toMatchObject({ status: 501, body: { error: 3003 } });
    expect(await service.store.plant(4n)).toBeUndefined();
  },
);

it('nothing after a refused upgrade is read as a request', async () => {
  // Node discards what follows in the same piece, here the second head; its body comes next.
  const { headers } = service.client;
  const [first, second] = [300, 301].map((id) => requestText(headers, `{"id":${id},"name":"oak"}`));
  const connection = await service.connect();
  const upgrading = first?.replace(HOST, `${HOST}connection: upgrade\r\nupgrade: websocket\r\n`);
  connection.write(`${upgrading}${POST}${HOST}content-length: ${second?.length}\r\n\r\n`);
  expect(await connection.read()).toMatchObject({ status: 200, headers: { connection: 'close' } });
  connection.write(second ?? '');
  await connection.closed();
  await expect(connection.read()).rejects.toThrow('the connection ended');

  // Nor if it arrives before the response.
  const unlock = await service.store.lock();
  const other = await service.connect();
  other.write(upgrading ?? '');
  await sleep(100);
  other.write(second ?? '');
  await other.closed();
  await unlock();
  expect(await service.store.plant(301n)).toBeUndefined();
});

it('Transfer-Encoding in HTTP/1.0: 400', async () => {
  const bytes = chunked().replace('HTTP/1.1', 'HTTP/1.0');
  expect(await service.sendBytes(bytes)).toMatchObject({ status: 400, body: { error: 3002 } });
});

it('a fragment in the target: 400', async () => {
  const { status, body } = await service.client.send({ path: '/plants#x' });
  expect({ status, body }).toMatchObject({ status: 400, body: { error: 3002 } });
});

it.each([
  'GET http:// HTTP/1.1',
  'GET a://b HTTP/1.1',
  'POST http:// HTTP/1.0',
  'OPTIONS * HTTP/1.1',
  'GET http://[::1 HTTP/1.1',
  'GET http://a:99999/plants HTTP/1.1',
])('%s has no known path: 404', async (start) => {
  const bytes = `${start}\r\n${HOST}\r\n`;
  expect(await service.sendBytes(bytes, { method: 'GET', path: '*' })).toMatchObject({
    status: 404,
    body: { error: 3000 },
  });
});
