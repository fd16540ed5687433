/** @engine sqlite */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { PROXIED, sendBodyToProxy } from '../support/proxied.js';
import { requestText } from '../support/raw-connection.js';
import { service, startService } from '../support/own.js';

const LIMIT = 64 * 1024;

startService();

const PLANT = '{"id":7,"name":"oak"}';
const JSON_TYPE = { 'content-type': 'application/json' };
const ACCEPTED = { status: 200, body: { name: 'oak' } };
const TOO_LARGE = {
  status: 400,
  // nginx has the same limit; its message does not tell it.
  body: {
    error: 1002,
    message: `the body is larger than the limit${PROXIED ? '' : ' of 65536 bytes'}`,
  },
};

/** A plant whose JSON has `bytes` bytes. */
const plantOf = (bytes: number) => PLANT.padEnd(bytes);

/** Status and body of the response to a body with these headers besides the token. */
async function post(body: string | Buffer, headers: Record<string, string | string[]>) {
  const { authorization = '' } = service.client.headers;
  const response = await service.client.send({ headers: { authorization, ...headers }, body });
  return { status: response.status, body: response.body };
}

describe('media types', () => {
  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json ; x="y;z"',
    'Application/JSON',
  ])('%s is accepted', async (type) => {
    expect(await post(PLANT, { 'content-type': type })).toEqual(ACCEPTED);
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    '*/*',
    ';application/json',
    'text/plain, application/json',
    '',
    undefined,
  ])('%j is refused, with and without a body', async (type) => {
    const message = `the media type is ${type?.split(';')[0] || 'missing'}: send \`Content-Type: application/json\``;
    for (const body of ['{"id":8,"name":"oak"}', ''])
      expect(await post(body, type === undefined ? {} : { 'content-type': type })).toEqual({
        status: 400,
        body: { error: 1001, message },
      });
    expect(await service.store.plant(8n)).toBeUndefined();
  });

  it('content-encoding: only identity is accepted', async () => {
    const message = 'the body must not be compressed';
    for (const encoding of ['gzip', 'identity, gzip', 'x'])
      expect(await post(gzipSync(PLANT), { ...JSON_TYPE, 'content-encoding': encoding })).toEqual({
        status: 400,
        body: { error: 3002, message },
      });
    expect(await post(PLANT, { ...JSON_TYPE, 'content-encoding': 'identity' })).toEqual(ACCEPTED);
  });
});

describe('the size limit of a body', () => {
  const CHUNKED = { ...JSON_TYPE, 'transfer-encoding': 'chunked' };
  it.each([
    ['with its length', JSON_TYPE],
    ['in chunks', CHUNKED],
  ])('%s: 200 at the limit, 1002 one byte above', async (_name, headers) => {
    expect(await post(plantOf(LIMIT), headers)).toEqual(ACCEPTED);
    expect(await post(plantOf(LIMIT + 1), headers)).toEqual(TOO_LARGE);
    expect(await post(plantOf(5 * LIMIT), headers)).toEqual(TOO_LARGE);
  });

  it('counts bytes, not characters', async () => {
    const name = '芦'.repeat(Math.ceil(LIMIT / 3));
    expect(await post(`{"id":1,"name":"${name}"}`, JSON_TYPE)).toEqual(TOO_LARGE);
  });

  it('refuses a body with a length before it arrives', async () => {
    using connection = await service.connect();
    const headers = { ...service.client.headers, 'content-length': `${LIMIT + 1}` };
    connection.write(requestText(headers));
    await sendBodyToProxy(connection, LIMIT + 1);
    expect(await connection.read()).toMatchObject(TOO_LARGE);
  });

  it('refuses a body in chunks before its end', async () => {
    const head = requestText({ ...service.client.headers, 'transfer-encoding': 'chunked' });
    const chunk = `${(2 * LIMIT).toString(16)}\r\n${'x'.repeat(2 * LIMIT)}\r\n`;
    const bytes = `${head}${chunk}${PROXIED ? '0\r\n\r\n' : ''}`;
    expect(await service.sendBytes(bytes)).toMatchObject(TOO_LARGE);
  });
});

describe('a body in pieces', () => {
  it('is joined, even when a character is split between pieces', async () => {
    using connection = await service.connect();
    const bytes = Buffer.from(requestText(service.client.headers, '{"id":9,"name":"🌵"}'));
    for (const byte of bytes) {
      connection.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    expect(await connection.read()).toMatchObject({ status: 200, body: { name: '🌵' } });
    expect((await service.store.plant(9n))?.name).toBe('🌵');
  });

  it('is joined, even when each byte is a chunk', async () => {
    using connection = await service.connect();
    const headers = { ...service.client.headers, 'transfer-encoding': 'chunked' };
    const plant = Buffer.from(JSON.stringify({ id: 19, name: 'x'.repeat(900), tag: '🌵' }));
    const chunks = Buffer.concat(
      Array.from(plant, (byte) => Buffer.from([...Buffer.from('1\r\n'), byte, 13, 10])),
    );
    connection.write(requestText(headers)).write(chunks).write('0\r\n\r\n');
    expect(await connection.read()).toMatchObject({ status: 200, body: { tag: '🌵' } });
    expect((await service.store.plant(19n))?.name).toBe('x'.repeat(900));
  });

  it.each([0, 1, 2, 5])(
    'is read whole, when the request waits behind another for %d turns of the event loop',
    async (turns) => {
      using connection = await service.connect();
      const create = requestText(service.client.headers, PLANT);
      connection.write(requestText(service.client.headers, '{}') + create.slice(0, -10));
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      connection.write(create.slice(-10));
      expect((await connection.read()).status).toBe(400);
      expect(await connection.read()).toMatchObject(ACCEPTED);
    },
  );

  it('that ends early stores nothing and affects no other request', async () => {
    const connection = await service.connect();
    const headers = { ...service.client.headers, 'content-length': '100' };
    connection.write(requestText(headers, '{"id":10,"name":"oak"}'));
    connection.close();
    expect(await post(PLANT, JSON_TYPE)).toEqual(ACCEPTED);
    expect(await service.store.plant(10n)).toBeUndefined();
  });
});

describe('Expect', () => {
  it('100-continue gets 100 once the token is valid', async () => {
    using connection = await service.connect();
    const headers = { ...service.client.headers, 'content-length': `${PLANT.length}` };
    connection.write(requestText({ ...headers, expect: '100-continue' }));
    expect((await connection.read()).status).toBe(100);
    connection.write(PLANT);
    expect(await connection.read()).toMatchObject(ACCEPTED);
  });

  it.each([
    ['with a body over the limit', 'POST /plants', { 'content-length': '70000' }, 400, 1002],
    ['with another media type', 'POST /plants', { 'content-type': 'text/plain' }, 400, 1001],
    ['on another path', 'POST /x', {}, 404, 3000],
    ['with another method', 'PUT /plants', {}, 405, 3001],
  ])('100-continue %s does not get 100', async (_name, operation, more, status, error) => {
    using connection = await service.connect();
    const headers = { ...service.client.headers, 'content-length': '5', ...more };
    const text = requestText({ ...headers, expect: '100-continue' });
    connection.write(text.replace('POST /plants', operation));
    await sendBodyToProxy(connection, Number(headers['content-length']), true);
    const [method = '', path = ''] = operation.split(' ');
    expect(await connection.read({ method, path })).toMatchObject({ status, body: { error } });
  });

  it('100-continue in HTTP/1.0, which has no status 100, is ignored', async () => {
    const text = requestText({ ...service.client.headers, expect: '100-continue' }, PLANT);
    const bytes = text.replace('HTTP/1.1', 'HTTP/1.0');
    expect(await service.sendBytes(bytes)).toMatchObject(ACCEPTED);
  });
});
