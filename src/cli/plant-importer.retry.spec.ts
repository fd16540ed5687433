/** @engine sqlite */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { describeError } from '../errors/operator-message.js';
import { PlantsImport, type Refused } from './plant-importer.js';

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
let plants: PlantsImport;

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
  server.close();
  await once(server, 'close');
});

/** Imports the plant. Returns 'stored', why it was refused, or why the import stopped. */
async function send(tries = 3, path = '/', origin = '') {
  const { port } = server.address() as AddressInfo;
  const url = new URL(path, origin || `http://127.0.0.1:${port}`);
  let outcome: unknown = 'stored';
  plants = new PlantsImport(
    { url, token: 't', concurrency: 1, tries },
    stopping,
    ({ error, message }: Refused) => (outcome = { error, message }),
  );
  const run = plants.run(Readable.from([Buffer.from(PLANT)]));
  return run.then(
    () => outcome,
    (error: unknown) => describeError(error).replace('stopped at line 1: ', ''),
  );
}

it.each(['/garden/plants', '/garden/plants/', '/garden', '/garden/'])(
  'import posts to the base address %s',
  async (path) => {
    responses = [STORED];
    expect(await send(1, path)).toBe('stored');
    expect(sent).toMatchObject([{ path: '/garden/plants', body: PLANT }]);
  },
);

describe('a plant without a final response', () => {
  it.each<Response>([
    UNAVAILABLE,
    { status: 408, body: '{"error":3004,"message":"late"}', headers: { connection: 'close' } },
    { status: 429, body: '{"error":4000,"message":"over the limit"}' },
    { status: 502, body: '<html>' },
    { ...STORED, isCut: true },
    { ...UNAVAILABLE, isCut: true },
  ])('is sent again, the same text, after %j', async (response) => {
    responses = [response, response, STORED];
    expect(await send()).toBe('stored');
    expect(sent.map(({ body }) => body)).toEqual([PLANT, PLANT, PLANT]);
    expect(plants.tally).toMatchObject({ sent: 1, stored: 1 });
    expect(plants.lastError).toBeUndefined();
  });

  it.each([
    ['seconds', () => '1'],
    ['a date', () => new Date(Date.now() + 2_000).toUTCString()],
  ])('waits as a Retry-After of %s asks', async (_form, write) => {
    responses = [{ ...UNAVAILABLE, headers: { 'retry-after': write() } }, STORED];
    expect(await send()).toBe('stored');
    const [first, second] = sent;
    expect(Number(second?.time) - Number(first?.time)).toBeGreaterThan(990);
  });

  it.each(['99999999999', 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'says why it waits for Retry-After: %s, and can be stopped',
    async (value) => {
      responses = [{ ...UNAVAILABLE, headers: { 'retry-after': value } }];
      const ended = send();
      while (plants.lastError === undefined) await new Promise(setImmediate);
      expect(plants.lastError).toBe('after 601 s: error 5001: unavailable');
      stopping.abort(new Error('interrupted'));
      expect(await ended).toBe('interrupted');
      expect(sent).toHaveLength(1);
      expect(plants.answeredLines).toBe(0);
    },
  );

  it('stops the import with the last response after its tries', async () => {
    responses = [{ status: 502, body: '<html>' }, UNAVAILABLE];
    expect(await send(2)).toBe('error 5001: unavailable');
    expect(sent).toHaveLength(2);
  });

  it.each([
    ['is cut', { ...STORED, isCut: true as const }, 'other side closed (is it https?)'],
    ['is too long', { status: 200, body: ' '.repeat(2 ** 21) }, /exceeded max size/],
  ])('stops the import after its tries if each response %s', async (_what, response, reason) => {
    responses = [response];
    expect(await send(2)).toMatch(reason);
    expect(sent).toHaveLength(2);
  });

  it('stops the import with the reason of a connection', async () => {
    expect(await send(2, '/', 'http://127.0.0.1:1')).toMatch(/^connect ECONNREFUSED 127/);
  });
});

it.each([
  [401, '{"error":2001,"message":"invalid"}', 'error 2001: invalid'],
  [403, '{"error":2002,"message":"\\u001b[2Jno"}', 'error 2002:  [2Jno'],
  [302, '', 'status 302, not from a plant store'],
  [404, '<html>', 'status 404, not from a plant store'],
  [400, 'Bad Request', 'status 400, not from a plant store'],
  [200, '{"id":1}', 'status 200, not from a plant store'],
  [200, 'null', 'status 200, not from a plant store'],
  [400, '{"error":1004,"message":"taken"}', { error: 1004, message: 'taken' }],
])('import takes a %i %s as final', async (status, body, outcome) => {
  responses = [{ status, body, headers: { location: '/elsewhere' } }];
  expect(await send()).toEqual(outcome);
  expect(sent).toHaveLength(1);
});
