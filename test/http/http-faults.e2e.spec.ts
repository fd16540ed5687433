/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { refusals } from '../../src/http/turns.js';
import { requestText } from '../support/raw-connection.js';
import { service, startService } from '../support/own.js';
import { countInFlight } from '../support/service.js';

startService();

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
    ['a space after a header name', `${POST}${HOST}content-length : 2\r\n\r\n{}`],
    ['two lengths', `${POST}${HOST}content-length: 2\r\ncontent-length: 3\r\n\r\n{} `],
    [
      'a length and chunks (RFC 9112, section 6.3)',
      `${POST}${HOST}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['HTTP/2.0', `POST /plants HTTP/2.0\r\n${HOST}\r\n`],
    ['a header too large', `${POST}${HOST}x: ${'x'.repeat(20_000)}\r\n\r\n`, LONG],
    ['thousands of header fields', `${POST}${HOST}${'a:\r\n'.repeat(2_000)}\r\n`, LONG],
  ])('%s', async (_name, bytes, ...[message = 'the request is not valid HTTP']) => {
    const connection = (await service.connect()).write(Buffer.from(bytes, 'latin1'));
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

  it('after a whole request: that request is stored and gets 200, the rest is not', async () => {
    const connection = await service.connect();
    connection.write(`${requestText(service.client.headers, '{"id":77,"name":"oak"}')}\0\0`);
    expect(await connection.read()).toMatchObject({
      status: 200,
      headers: { connection: 'close' },
      body: { name: 'oak' },
    });
    await connection.closed();
    expect((await service.store.plant(77n))?.name).toBe('oak');
    await expect(connection.read()).rejects.toThrow('the connection ended');
  });

  it('right after the body of a refused request: each has its own response', async () => {
    const text = {
      ...service.client.headers,
      'content-type': 'text/plain',
      'content-length': '20',
    };
    const connection = (await service.connect()).write(requestText(text));
    expect(await connection.read()).toMatchObject({ status: 400, body: { error: 1001 } });
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

  it('in the body of a request whose refusal waits for a turn: that is the only response', async () => {
    const inFlight = countInFlight();
    const connection = await service.connect();
    void refusals.take(connection, 20_000);
    connection.write(requestText({ 'transfer-encoding': 'chunked' }));
    while (inFlight.count === 0) await sleep(1);
    connection.write('zz\r\n');
    expect(await connection.read()).toMatchObject({
      status: 401,
      headers: { connection: 'close' },
    });
    await expect(connection.read()).rejects.toThrow(/^the connection ended after: $/);
  });

  it.each([
    ['a valid token: 400', chunked, 400, 3002],
    ['no token: 401', () => requestText({ 'transfer-encoding': 'chunked' }), 401, 2000],
  ])(
    'a malformed chunk with %s, also for a client that goes on sending',
    async (_name, head, status, error) => {
      for (let i = 0; i < 5; i++) {
        const connection = (await service.connect()).write(head());
        // A reset would discard what the client has not read yet.
        connection.socket.pause();
        await sleep(20);
        connection.write('zz\r\n');
        for (let part = 0; part < 5; part++) {
          await sleep(2);
          connection.write('x'.repeat(20_000));
        }
        connection.socket.resume();
        expect(await connection.read()).toMatchObject({ status, body: { error } });
        await connection.closed();
      }
    },
  );
});

/** Replaces a part of the request of a plant. */
const edited = (id: number, part: string | RegExp, by: string) =>
  requestText(service.client.headers, `{"id":${id},"name":"oak"}`).replace(part, by);
const TOKEN = 'authorization: Bearer x\r\n';

const NO_HOST = 'the header `host` is missing or malformed';

describe('what Node lets pass: 400', () => {
  it.each([
    ['no Host', HOST, '', NO_HOST],
    ['a blank in Host', HOST, 'host: a b\r\n', NO_HOST],
    ['a path in Host', HOST, 'host: a/b\r\n', NO_HOST],
    ['two Hosts', HOST, HOST + HOST, 'more than one header `host`'],
    ['another Host', HOST, `${HOST}HOST: elsewhere\r\n`, 'more than one header `host`'],
    [
      'a Host behind 90 fields',
      HOST,
      `${HOST}${'a:\r\n'.repeat(90)}Host: x\r\n`,
      'more than one header `host`',
    ],
    [
      'three tokens',
      HOST,
      `${HOST}${TOKEN}Authorization: Bearer y\r\n`,
      'more than one header `authorization`',
    ],
    [
      'two media types',
      HOST,
      `${HOST}Content-Type: text/plain\r\n`,
      'more than one header `content-type`',
    ],
    ['101 fields', HOST, HOST + 'a:\r\n'.repeat(97), LONG],
    ['a fragment in the target', '/plants', '/plants#x', 'the path is malformed'],
    [
      'Transfer-Encoding in HTTP/1.0',
      /1\.1\r\n.*\r\ncontent-length: \d+/,
      '1.0\r\ntransfer-encoding: chunked',
    ],
  ])('%s', async (_name, part, by, ...[message = 'the request is not valid HTTP']) => {
    expect(await service.sendBytes(edited(2, part, by))).toMatchObject({
      status: 400,
      body: { error: 3002, message },
    });
    expect(await service.store.plant(2n)).toBeUndefined();
  });
});

it.each([
  ['HTTP/1.0 without Host', `1.1\r\n${HOST}`, '1.0\r\n'],
  ['an IPv6 address in Host', HOST, 'host: [::1]:80\r\n'],
  ['100 header fields', HOST, HOST + 'a:\r\n'.repeat(96)],
  ['the whole URL as the target', '/plants', 'http://localhost/plants'],
])('%s is valid', async (_name, part, by) => {
  expect(await service.sendBytes(edited(3, part, by))).toMatchObject({
    status: 200,
    body: { name: 'oak' },
  });
});

it.each(['gzip, chunked', 'x'])(
  'the transfer coding "%s": 501, nothing is stored',
  async (coding) => {
    const bytes = `${chunked(coding)}15\r\n{"id":4,"name":"oak"}\r\n0\r\n\r\n`;
    expect(await service.sendBytes(bytes)).toMatchObject({
      status: 501,
      headers: { connection: 'close' },
      body: { error: 3003 },
    });
    expect(await service.store.plant(4n)).toBeUndefined();
  },
);

it('nothing after a refused upgrade is read as a request', async () => {
  // Node discards what follows in the same piece, here the second head; its body comes next.
  const upgrading = edited(300, HOST, `${HOST}connection: upgrade\r\nupgrade: websocket\r\n`);
  const second = edited(301, '', '');
  const connection = await service.connect();
  connection.write(`${upgrading}${POST}${HOST}content-length: ${second.length}\r\n\r\n`);
  expect(await connection.read()).toMatchObject({ status: 200, headers: { connection: 'close' } });
  connection.write(second);
  await connection.closed();
  await expect(connection.read()).rejects.toThrow('the connection ended');

  // Nor if it arrives before the response.
  const unlock = await service.store.lock();
  const other = (await service.connect()).write(upgrading);
  await sleep(100);
  other.write(second);
  await other.closed();
  await unlock();
  expect(await service.store.plant(301n)).toBeUndefined();
});

it.each([
  'GET http:// HTTP/1.1',
  'GET a://b HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'GET http://a:99999/x HTTP/1.1',
])('%s has no known path: 404', async (start) => {
  const bytes = `${start}\r\n${HOST}\r\n`;
  expect(await service.sendBytes(bytes, { method: 'GET', path: '*' })).toMatchObject({
    status: 404,
    body: { error: 3000 },
  });
});
