/** @engine sqlite */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { describeFailure, PlantSender } from './plant-sender.js';

interface Response {
  readonly status: number;
  readonly body: string;
  readonly headers?: Record<string, string>;
  /** Whether the connection breaks in the body. */
  readonly isCut?: true;
}

const PLANT = '{"id": 9007199254740993, "name": "Alder"}';
const STORED = { status: 200, body: '{"name":"Alder"}' };
const UNAVAILABLE = { status: 503, body: '{"error":5001,"message":"unavailable"}' };

/** Sent in turn; the last one is repeated. */
let responses: readonly [Response, ...Response[]];
let sent: { readonly path?: string | undefined; readonly body: string; readonly time: number }[];
let server: Server;
let stopping: AbortController;
let sender: PlantSender | undefined;

beforeEach(async () => {
  sent = [];
  stopping = new AbortController();
  server = createServer((request, response) => {
    void text(request).then((body) => {
      sent.push({ path: request.url, body, time: performance.now() });
      const [first] = responses.slice(Math.min(sent.length, responses.length) - 1);
      const { status, headers, isCut, body: content } = first ?? responses[0];
      const length = content.length * (isCut ? 2 : 1);
      response.writeHead(status, { ...headers, 'content-length': length });
      response.write(content, () => (isCut ? request.socket.destroy() : response.end()));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  await sender?.close();
  server.close();
  await once(server, 'close');
});

/** Sends the plant. Returns what `send` does, or why it failed. */
async function send(tries = 3, path = '/') {
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}${path}`);
  sender = new PlantSender({ url, token: 't', concurrency: 1, tries }, stopping.signal);
  return sender.send(Buffer.from(PLANT)).catch(describeFailure);
}

describe('PlantSender', () => {
  it.each(['/garden/plants', '/garden/plants/', '/garden', '/garden/'])(
    'posts to the base address %s',
    async (path) => {
      responses = [STORED];
      expect(await send(1, path)).toBeUndefined();
      expect(sent).toMatchObject([{ path: '/garden/plants', body: PLANT }]);
    },
  );

  it.each<Response>([
    UNAVAILABLE,
    { status: 408, body: '{"error":3004,"message":"late"}', headers: { connection: 'close' } },
    { status: 429, body: '{"error":4000,"message":"over the limit"}' },
    { status: 502, body: '<html>' },
    { ...STORED, isCut: true },
    { ...UNAVAILABLE, isCut: true },
  ])('sends the same text again after %j', async (response) => {
    responses = [response, response, STORED];
    expect(await send()).toBeUndefined();
    expect(new Set(sent.map(({ body }) => body))).toEqual(new Set([PLANT]));
    expect(sent.length).toBeGreaterThan(2);
    expect(sender?.lastError).toBeUndefined();
  });

  it.each([
    ['seconds', () => '1'],
    ['a date', () => new Date(Date.now() + 2_000).toUTCString()],
  ])('waits as a Retry-After of %s asks', async (_form, write) => {
    responses = [{ ...UNAVAILABLE, headers: { 'retry-after': write() } }, STORED];
    expect(await send()).toBeUndefined();
    const [first, second] = sent;
    expect(Number(second?.time) - Number(first?.time)).toBeGreaterThan(990);
  });

  it.each(['99999999999', 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'says why it waits for Retry-After: %s, and can be stopped',
    async (value) => {
      responses = [{ ...UNAVAILABLE, headers: { 'retry-after': value } }];
      const ended = send();
      while (sender?.lastError === undefined) await new Promise(setImmediate);
      expect(sender.lastError).toBe('status 503');
      stopping.abort();
      expect(await ended).toBe('error 5001: unavailable');
      expect(sent).toHaveLength(1);
    },
  );

  it.each([
    [401, '{"error":2001,"message":"invalid"}', 'error 2001: invalid'],
    [403, '{"error":2002,"message":"\\u001b[2Jno"}', 'error 2002:  [2Jno'],
    [302, '', 'status 302, not from a plant store'],
    [404, '<html>', 'status 404, not from a plant store'],
    [400, 'Bad Request', 'status 400, not from a plant store'],
    [200, '{"id":1}', 'status 200, not from a plant store'],
    [200, 'null', 'status 200, not from a plant store'],
    [400, '{"error":1004,"message":"taken"}', { error: 1004, message: 'taken' }],
  ])('takes a %i %s as final', async (status, body, outcome) => {
    responses = [{ status, body, headers: { location: '/elsewhere' } }];
    expect(await send()).toEqual(outcome);
    expect(sent).toHaveLength(1);
  });

  it('fails with the last response after its tries', async () => {
    responses = [{ status: 502, body: '<html>' }, UNAVAILABLE];
    expect(await send(2)).toBe('error 5001: unavailable');
    expect(sent).toHaveLength(2);
  });

  it('fails after its tries if no plant is whole', async () => {
    responses = [{ ...STORED, isCut: true }];
    expect(await send(2)).toBe('status 200, not from a plant store');
    expect(sent.length).toBeLessThanOrEqual(4);
  });

  it('bounds what a response may be', async () => {
    responses = [{ status: 200, body: ' '.repeat(2 ** 21) }];
    expect(await send(1)).toBe('status 200, not from a plant store');
  });

  it('fails with the reason of a connection', async () => {
    responses = [STORED];
    expect(await send()).toBeUndefined();
    const { port } = server.address() as AddressInfo;
    await sender?.close();
    server.close();
    const url = new URL(`http://127.0.0.1:${port}`);
    sender = new PlantSender({ url, token: 't', concurrency: 1, tries: 2 }, stopping.signal);
    const failed = sender.send(Buffer.from(PLANT)).catch(describeFailure);
    expect(await failed).toMatch(/^connect ECONNREFUSED 127/);
  });
});
