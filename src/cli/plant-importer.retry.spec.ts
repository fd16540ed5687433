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
const STORED: Response = { status: 200, body: '{"name":"Alder"}' };
const UNAVAILABLE: Response = { status: 503, body: '{"error":5001,"message":"unavailable"}' };

/** Sent in turn; the last one is repeated. */
let responses: readonly Response[];
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
      const next = responses[Math.min(sent.length, responses.length) - 1] ?? STORED;
      const length = next.body.length * (next.isCut ? 2 : 1);
      response.writeHead(next.status, { ...next.headers, 'content-length': length });
      response.write(next.body, () => (next.isCut ? request.socket.destroy() : response.end()));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  server.close();
  await once(server, 'close');
});

/** Imports the plant. Returns 'stored', why it was refused, or why the import stopped. */
async function send(tries = 3, path = '/') {
  const { port } = server.address() as AddressInfo;
  const url = new URL(path, `http://127.0.0.1:${port}`);
  let outcome: unknown = 'stored';
  const onRefused = ({ error, message }: Refused) => (outcome = { error, message });
  plants = new PlantsImport({ url, token: 't', tries }, stopping, onRefused);
  return plants.run(Readable.from([Buffer.from(PLANT)])).then(
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

  it.each<[string, Response[], string | RegExp]>([
    ['is 5xx', [{ status: 502, body: '<html>' }, UNAVAILABLE], /^error 5001: unavailable$/],
    ['is cut', [{ ...STORED, isCut: true }], 'other side closed (is it https?)'],
    ['is too long', [{ status: 200, body: ' '.repeat(2 ** 21) }], /exceeded max size/],
  ])('stops the import after its tries if each %s', async (_what, each, reason) => {
    responses = each;
    expect(await send(2)).toMatch(reason);
    expect(sent).toHaveLength(2);
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
