/** @engine sqlite */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  AnswerError,
  ConnectionError,
  PlantStoreClient,
  TimeoutError,
} from './plant-store-client.js';

/** An answer of the service; 'silence' is none, and 'break' a broken connection. */
type Scripted =
  | { readonly status: number; readonly body: string; readonly headers?: Record<string, string> }
  | 'silence'
  | 'break';

const STORED = { status: 200, body: '{"name":"Alder"}' };
const TAKEN = {
  status: 400,
  body: '{"error":1004,"message":"taken"}',
  headers: { 'x-request-id': 'r-1' },
};
const UNAVAILABLE = { status: 503, body: '{"error":5001,"message":"unavailable"}' };
const LATE = {
  status: 408,
  body: '{"error":3004,"message":"not in time"}',
  headers: { connection: 'close' },
};
const LIMITED = { status: 429, body: '{"error":4000,"message":"over the limit"}' };

/** Sent in turn; the last one is repeated. */
let answers: Scripted[];
let sent: { readonly path?: string | undefined; headers: IncomingHttpHeaders; body: string }[];
let server: Server;
let baseUrl: string;

beforeEach(async () => {
  sent = [];
  server = createServer((request, response) => {
    void text(request).then((body) => {
      sent.push({ path: request.url, headers: request.headers, body });
      const answer = answers[Math.min(sent.length, answers.length) - 1];
      if (answer === 'break') request.socket.destroy();
      else if (answer && answer !== 'silence') {
        response.writeHead(answer.status, answer.headers).end(answer.body);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  if (server.listening) await once(server.close(), 'close');
});

const client = (options = {}) =>
  new PlantStoreClient({ baseUrl, token: 't', tries: 3, firstDelayMs: 1, ...options });

const PLANT = { id: 1, name: 'Alder' };
const bodies = () => sent.map(({ body }) => body);

/** The error that a create fails with. */
async function failure(create: Promise<unknown>): Promise<unknown> {
  return create.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('what is sent', () => {
  it.each<[bigint | number, string]>([
    [2n ** 63n - 1n, '9223372036854775807'],
    [-(2n ** 63n), '-9223372036854775808'],
    [2n ** 53n + 1n, '9007199254740993'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [-0, '0'],
  ])('has the digits of the id %s', async (id, digits) => {
    answers = [STORED];
    expect(await client().createPlant({ id, name: '木 "x"' })).toEqual({ name: 'Alder' });
    expect(bodies()).toEqual([`{"id":${digits},"name":"木 \\"x\\""}`]);
  });

  it.each<[unknown, typeof RangeError | typeof TypeError]>([
    [2 ** 53, RangeError],
    [1.5, RangeError],
    [NaN, RangeError],
    [2n ** 63n, RangeError],
    [-(2n ** 63n) - 1n, RangeError],
    ['1', TypeError],
    [undefined, TypeError],
  ])('is nothing where the id is %s', async (id, kind) => {
    answers = [STORED];
    const create = client().createPlant({ id: id as number, name: 'Alder' });
    await expect(create).rejects.toBeInstanceOf(kind);
    expect(sent).toEqual([]);
  });

  it('leaves out a missing member, so that the service reports it', async () => {
    answers = [TAKEN];
    const plant = { id: 2n ** 60n } as unknown as { id: bigint; name: string };
    await expect(
      new PlantStoreClient({ baseUrl, token: 't' }).createPlant(plant),
    ).rejects.toThrow();
    expect(sent[0]?.body).toBe('{"id":1152921504606846976}');
  });

  it('takes an infinite timeout', async () => {
    answers = [STORED];
    const client = new PlantStoreClient({ baseUrl, token: 't', timeoutMs: Infinity });
    expect(await client.createPlant({ id: 1, name: 'Alder' })).toEqual({ name: 'Alder' });
  });

  it('has the token, the tag, and the path under the base address', async () => {
    answers = [{ status: 200, body: '{"name":"Alder","tag":"Alnus","more":1}' }];
    const plants = client({ baseUrl: new URL(`${baseUrl}/garden/`) });
    const plant = await plants.createPlant({ ...PLANT, tag: 'Alnus' });
    expect(plant).toEqual({ name: 'Alder', tag: 'Alnus' });
    expect(sent).toMatchObject([
      {
        path: '/garden/plants',
        headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
        body: '{"id":1,"name":"Alder","tag":"Alnus"}',
      },
    ]);
  });

  it.each([
    [{ token: 'plant_\nx' }],
    [{ token: '' }],
    [{ baseUrl: 'plants.example' }],
    [{ baseUrl: 'ftp://plants.example' }],
    [{ baseUrl: 'http://plant_x@plants.example' }],
  ])('is refused at once with %j, without naming a secret', (options) => {
    expect(() => client(options)).toThrow(TypeError);
    expect(() => client(options)).not.toThrow('plant_');
  });
});

describe('retries', () => {
  it.each<[string, Scripted]>([
    ['a 503', UNAVAILABLE],
    ['a 408', LATE],
    ['a 429', LIMITED],
    ['a 502 of a proxy', { status: 502, body: '<html>' }],
    ['a broken connection', 'break'],
  ])('send the same text again after %s', async (_what, first) => {
    answers = [first, first, STORED];
    const errors: unknown[] = [];
    const onRetry = (error: unknown) => errors.push(error);
    expect(await client().createPlant(PLANT, { onRetry })).toEqual({ name: 'Alder' });
    expect(bodies()).toEqual(Array(3).fill('{"id":1,"name":"Alder"}'));
    expect(errors).toMatchObject([{ tries: 1 }, { tries: 2 }]);
  });

  it('send again after a timeout, and end with it', async () => {
    answers = ['silence'];
    const error = await failure(client({ timeoutMs: 200, tries: 2 }).createPlant(PLANT));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ message: 'no answer in 200 ms', tries: 2 });
    expect(sent).toHaveLength(2);
  });

  it('end with the error of the last try', async () => {
    answers = ['break', UNAVAILABLE];
    expect(await failure(client().createPlant(PLANT))).toMatchObject({
      name: 'AnswerError',
      status: 503,
      error: 5001,
      message: 'unavailable',
      tries: 3,
    });
    server.close();
    server.closeAllConnections();
    const error = await failure(client().createPlant(PLANT));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ code: 'ECONNREFUSED', tries: 3 });
    expect((error as Error).message).toMatch(/^connect ECONNREFUSED 127/);
  });

  it.each([400, 401, 403, 404, 302])('do not follow a %i, nor where it leads', async (status) => {
    answers = [{ ...TAKEN, status, headers: { ...TAKEN.headers, location: '/elsewhere' } }];
    const error = await failure(client().createPlant(PLANT));
    expect(error).toBeInstanceOf(AnswerError);
    expect(error).toMatchObject({ status, error: 1004, message: 'taken', requestId: 'r-1' });
    expect(sent).toHaveLength(1);
  });

  it.each([
    ['2', 2_000],
    ['0', 0],
    ['soon', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['99999999999', 600_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 600_000],
  ])('wait as Retry-After: %s asks', async (retryAfter, retryAfterMs) => {
    answers = [{ ...UNAVAILABLE, headers: { 'retry-after': retryAfter } }];
    const { signal, ...end } = ending();
    const onRetry = (error: unknown) => end.with(error);
    const error = await failure(client().createPlant(PLANT, { signal, onRetry }));
    expect(error).toMatchObject({ status: 503, retryAfterMs });
  });

  it.each<[number, string]>([
    [200, '{"id":1}'],
    [200, 'null'],
    [404, '<html>'],
    [400, 'Bad Request'],
  ])('do not follow a %i %s, which no plant store sends', async (status, body) => {
    answers = [{ status, body }];
    const error = await failure(client().createPlant(PLANT));
    expect(error).toBeInstanceOf(AnswerError);
    expect(error).toMatchObject({ status, error: undefined, requestId: undefined });
    expect((error as Error).message).toBe(`status ${status}, not from a plant store`);
    expect(sent).toHaveLength(1);
  });
});

/** A signal that ends with an error of the test's choice. */
function ending() {
  const controller = new AbortController();
  return { signal: controller.signal, with: (error: unknown) => controller.abort(error) };
}

describe('a signal', () => {
  it('ends a create before it is sent', async () => {
    answers = [STORED];
    await expect(client().createPlant(PLANT, { signal: AbortSignal.abort() })).rejects.toThrow();
    expect(sent).toEqual([]);
  });

  it('ends a create that waits for its answer', async () => {
    answers = ['silence'];
    const end = ending();
    const create = failure(client().createPlant(PLANT, end));
    while (sent.length === 0) await new Promise(setImmediate);
    end.with('enough');
    expect(await create).toBe('enough');
    expect(sent).toHaveLength(1);
  });

  it('ends a create that waits for its next try', async () => {
    answers = [UNAVAILABLE];
    const end = ending();
    const onRetry = () => void setImmediate(() => end.with('enough'));
    const create = client({ firstDelayMs: 600_000 }).createPlant(PLANT, {
      signal: end.signal,
      onRetry,
    });
    expect(await failure(create)).toBe('enough');
    expect(sent).toHaveLength(1);
  });
});
