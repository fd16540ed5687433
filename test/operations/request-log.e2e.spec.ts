/** @engine sqlite */
import { afterAll, describe, expect, it } from '@jest/globals';
import { read } from '../support/published.js';
import { requestText } from '../support/raw-connection.js';
import type { Sent } from '../support/received.js';
import { Service } from '../support/service.js';

let service: Service;
/** The variables with which it was started, and how many lines there were before the test. */
let startedWith: string | undefined;
let before = 0;
afterAll(() => service.stop());

const PLANT = '{"id":1,"name":"oak"}';
const MADE = /^[\da-f-]{36}$/;

/** Starts the service, unless the test before has started it with the same variables. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
  const variables = JSON.stringify(env);
  if (startedWith !== variables) {
    if (startedWith !== undefined) await service.stop();
    service = await Service.start({ NODE_ENV: 'production', ...env });
    startedWith = variables;
  }
  before = service.log.lines('Request').length;
}

/** The lines of the test's requests, once there are `count`. */
async function lines(count: number): Promise<Record<string, unknown>[]> {
  for (;;) {
    const found = service.log.lines('Request').slice(before);
    if (found.length >= count) return found;
    await new Promise(setImmediate);
  }
}

describe('LOG_REQUESTS=all: a line for', () => {
  it('a stored plant, with its sender, but not the token', async () => {
    await start();
    const { headers } = await service.client.post(PLANT);
    const [line] = await lines(1);
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      pid: process.pid,
      context: 'Request',
      requestId: headers['x-request-id'],
      method: 'POST',
      path: '/plants',
      status: 200,
      durationMs: expect.any(Number),
      tokenId: 'token:1',
      tokenName: 'test',
      client: '127.0.0.1',
      msg: 'POST /plants 200',
    });
    expect(line?.requestId).toMatch(MADE);
    expect(String(line?.durationMs)).toMatch(/^\d+(\.\d{1,3})?$/);
  });

  it.each<[string, Sent, object]>([
    ['no token', { headers: {} }, { status: 401, error: 2000, path: '/plants' }],
    ['no JSON', { body: '{' }, { status: 400, error: 1000, tokenName: 'test' }],
    ['no such path', { path: '/x/y' }, { status: 404, error: 3000, msg: 'POST 404' }],
    ['no such method', { method: 'PUT' }, { status: 405, error: 3001, msg: 'PUT /plants 405' }],
    ['the page for browsers', { method: 'GET', path: '/' }, { status: 404, path: '/' }],
    ['a bad path', { path: '/%zz?x' }, { status: 400, error: 3002, msg: 'POST 400' }],
    ['the document', { method: 'GET', path: '/docs' }, { status: 200, path: '/docs' }],
    ['a part of it', { method: 'GET', path: '/docs/swagger-ui.css' }, { msg: 'GET 200' }],
    [
      "the client's id",
      { headers: { 'x-request-id': 'nursery/7:a' } },
      { requestId: 'nursery/7:a' },
    ],
  ])('%s, with the id that the response has', async (_name, request, expected) => {
    await start();
    const { headers } = await service.client.send(request);
    const [line] = await lines(1);
    expect(line).toMatchObject(expected);
    expect(line?.requestId).toBe(headers['x-request-id']);
  });

  it('a request that is refused before routing, with its path', async () => {
    await start();
    const text = requestText({ 'transfer-encoding': 'gzip' });
    for (const path of ['/plants?x', '/nowhere/x'])
      await service.sendBytes(text.replace('/plants', path));
    const [own, other] = await lines(2);
    expect(own).toMatchObject({ status: 501, path: '/plants', msg: 'POST /plants 501' });
    expect(other).toMatchObject({ status: 501, msg: 'POST 501' });
    expect(other).not.toHaveProperty('path');
  });

  it('each request whose client leaves before its response', async () => {
    await start();
    const unlock = await service.store.lock();
    const connection = await service.connect();
    const headers = { ...service.client.headers, connection: 'keep-alive' };
    for (const id of [1, 2]) {
      const named = { ...headers, 'x-request-id': `left-${id}` };
      connection.write(requestText(named, `{"id":${id},"name":"oak"}`));
    }
    // Another request gets its response while these wait for their commit.
    await service.client.send({ path: '/x' });
    // A client that half-closes its connection could still read its response.
    connection.socket.resetAndDestroy();
    const left = (await lines(3)).filter(({ path }) => path === '/plants');
    await unlock();
    expect(left.map(({ requestId }) => requestId).sort()).toEqual(['left-1', 'left-2']);
    for (const line of left) {
      const msg = 'POST /plants no response';
      expect(line).toMatchObject({ level: 'info', msg, client: '127.0.0.1' });
      expect(line).not.toHaveProperty('status');
    }
  });

  it('a request whose client leaves amid its body, which is no fault of the service', async () => {
    await start();
    const connection = await service.connect();
    const headers = { 'content-length': '9', expect: '100-continue' };
    connection.write(requestText({ ...service.client.headers, ...headers }));
    expect((await connection.read()).status).toBe(100);
    connection.write('{').socket.resetAndDestroy();
    expect((await lines(1))[0]).toMatchObject({ level: 'info', msg: 'POST /plants no response' });
    // The body is given up a moment later.
    await service.client.post(PLANT);
    expect(service.log.lines('Errors')).toEqual([]);
  });

  it('a request with secrets in wrong places, without them', async () => {
    await start();
    const { token } = service;
    const headers = { 'x-request-id': token, 'user-agent': token, referer: token };
    const path = `/nowhere/${token.replace(/.{4}/g, '$&/')}?${token}`;
    await service.client.send({ path, headers });
    const [line] = await lines(1);
    expect(line).toMatchObject({ requestId: expect.stringMatching(MADE), msg: 'POST 404' });
    expect(line).not.toHaveProperty('path');
  });
});

it('the id of a request is that of its client, unless it is no single word or may be a token', async () => {
  await start();
  const ask = async (id: string | string[]) => {
    const { headers } = await service.client.send({ path: '/x', headers: { 'x-request-id': id } });
    return headers['x-request-id'];
  };
  for (const id of ['a', '7a'.repeat(64), 'plant_7']) expect(await ask(id)).toBe(id);
  const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl';
  for (const id of [['a', 'b'], '', 'x'.repeat(129), 'a b', jwt])
    expect(await ask(id)).toMatch(MADE);
});

it.each([
  ['all', 'info', [200, 400, 401, 404]],
  ['errors', 'info', [400, 401, 404]],
  ['errors', 'warn', []],
  ['all', 'error', []],
  ['none', 'trace', []],
])('LOG_REQUESTS=%s with LOG_LEVEL=%s: %j', async (which, level, statuses) => {
  await start({ LOG_REQUESTS: which, LOG_LEVEL: level });
  await service.client.post(PLANT);
  await service.client.post('{');
  await service.client.send({ headers: {} });
  await service.client.send({ path: '/x' });
  const found = await lines(statuses.length);
  expect(found.map(({ status }) => status)).toEqual(statuses);
});

it('bytes that are no request get a response with an id, and a line at debug of their kind only', async () => {
  await start();
  const { headers } = await service.sendBytes('HELLO there\r\n\r\n');
  const requestId = headers['x-request-id'];
  expect(requestId).toMatch(MADE);
  const msg = expect.stringContaining('HPE_INVALID');
  expect(service.log.lines('Http')).toMatchObject([{ level: 'debug', requestId, msg }]);
  expect(service.log.text).not.toContain('HELLO');
});

it.each([
  ['off', '198.51.100.1, 192.0.2.7', '127.0.0.1'],
  ['1', '198.51.100.1, 192.0.2.7', '192.0.2.7'],
  // No addresses.
  ['1', '192.0.2.7, plant_7', '127.0.0.1'],
  ['1', '192.0.2.7:x', '127.0.0.1'],
  // With ports.
  ['1', '192.0.2.7, 203.0.113.7:4711', '203.0.113.7'],
  ['1', '[2001:db8::7]:4711', '2001:db8::7'],
  ['1', '::ffff:192.0.2.7', '192.0.2.7'],
  ['1', '::FFFF:c000:207', '192.0.2.7'],
  ['1', '0:0:0:0:0:ffff:c000:0207', '192.0.2.7'],
  ['1', '2001:db8::7', '2001:db8::7'],
  ['1', 'fe80::7%eth0', 'fe80::7%eth0'],
  // Addresses that node:net itself refuses elsewhere.
  ['1', '1:2:3:4:5:6:192.0.2.7%0-.:x', '1:2:3:4:5:6:192.0.2.7%0-.:x'],
])('TRUST_PROXY=%s, forwarded for %s: the client is %s', async (trusted, forwarded, client) => {
  await start({ TRUST_PROXY: trusted });
  await service.client.send({ headers: { 'x-forwarded-for': forwarded } });
  expect(await lines(1)).toMatchObject([{ client }]);
});

it("docs/logging.md lists every member of a request's line, and no other", async () => {
  const [lists = ''] = read('docs/logging.md').split('\n## ');
  const items = Array.from(lists.matchAll(/^- ([^:\n]*)/gm), ([, names = '']) => names);
  const members = Array.from(items.join().matchAll(/`(\w+)`/g), ([, name]) => name);
  await start();
  await service.client.post('{');
  const [line] = await lines(1);
  expect(Object.keys(line ?? {}).sort()).toEqual(members.sort());
});
