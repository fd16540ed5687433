/** @engine sqlite */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { end, listen } from '../../test/support/local-server.js';
import { describeError } from '../errors/operator-message.js';
import { PlantImporter, type Refused } from './plant-importer.js';

type Listener = (plant: string, response: ServerResponse, request: IncomingMessage) => void;

/** A stand-in for the service, and the latest import into it. */
let server: Server;
let port: number;
let run: PlantImporter;
let retries: string[];
let listener: Listener;
beforeEach(async () => {
  server = createServer((request, response) => {
    void text(request).then((plant) => listener(plant, response, request));
  });
  port = await listen(server);
});
afterEach(() => end(server));

const LIMITS = { tries: 5, responseMs: 3_600_000, stopMs: 3_600_000 };

/** Imports a source into the server, which responds by a listener. Resolves to what was refused. */
async function importing(
  source: Readable,
  respond: Listener,
  limits: Partial<typeof LIMITS> = {},
  path = '/',
) {
  listener = respond;
  const url = new URL(path, `http://127.0.0.1:${port}`);
  const refused: Refused[] = [];
  retries = [];
  const onRetry = (reason: string) => retries.push(reason);
  const onRefused = (plant: Refused) => refused.push(plant);
  run = new PlantImporter({ url, token: 't' }, onRefused, onRetry, { ...LIMITS, ...limits });
  const failure = await run.run(source);
  if (failure) throw failure;
  return refused;
}

const lines = (...text: string[]): Readable => Readable.from([Buffer.from(text.join('\n'))]);

/** Responds as the service does to a plant that it has stored. */
function store(plant: string, response: ServerResponse): void {
  const { name, tag } = JSON.parse(plant) as { name: string; tag?: string };
  response.end(JSON.stringify({ name, tag }));
}
const refuse = (response: ServerResponse, status = 400) =>
  response.writeHead(status).end('{"error":1,"message":"no"}');

describe('an import', () => {
  it.each(['/garden/plants', '/garden/plants/', '/garden', '/garden/'])(
    'posts a line unchanged to the base address %s',
    async (path) => {
      const line = ' { "id" : 9007199254740993, "name": "木" } \r';
      let sent: unknown[] = [];
      const post: Listener = (plant, response, { method, url, headers }) => {
        sent = [method, url, headers.authorization, headers['content-type'], plant];
        store(plant, response);
      };
      await importing(lines(line), post, {}, path);
      expect(sent).toEqual(['POST', '/garden/plants', 'Bearer t', 'application/json', line]);
      expect(run.counts).toEqual({ answeredLines: 1, sent: 1, stored: 1, refused: 0, notSent: 0 });
    },
  );

  it('reads no further ahead than the bound, over 32 connections, however long', async () => {
    const plants = 4_000;
    // The lines in memory, and what Readable.from() reads ahead by itself.
    const bound = 32 + 16 + 2;
    let [read, responses, ahead, connections] = [0, 0, 0, 0];
    function* lines(): Generator<Buffer> {
      for (; read < plants; read++) {
        ahead = Math.max(ahead, read - responses);
        yield Buffer.from(`{"id":${read},"name":"x"}\n`);
      }
    }
    // On a busy machine it would end idle ones, and others would take their place.
    server.keepAliveTimeout = 0;
    server.on('connection', () => (connections += 1));
    await importing(Readable.from(lines()), (plant, response) => {
      responses += 1;
      store(plant, response);
    });
    expect(run.counts).toMatchObject({ stored: plants, refused: 0 });
    expect(ahead).toBeLessThanOrEqual(bound);
    expect(connections).toBeLessThanOrEqual(32);
  });

  it('stops if its source fails, once requests in flight have their responses', async () => {
    const source = new PassThrough();
    source.write('{"name":"x"}\n');
    const stopped = importing(source, (plant, response) => {
      source.destroy(new Error('the disk is gone'));
      store(plant, response);
    });
    await expect(stopped).rejects.toThrow(new Error('stopped: the disk is gone'));
    expect(run.counts.stored).toBe(1);
  });

  describe.each(['a byte', 'nothing'])('whose service sends %s again and again', (what) => {
    const respond: Listener = (_plant, response) => {
      const timer = setInterval(() => what === 'a byte' && response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    };

    it('gives up each response in time', async () => {
      const stopped = importing(lines('{"n":1}'), respond, { tries: 2, responseMs: 200 });
      await expect(stopped).rejects.toThrow('stopped at line 1: The operation was aborted due to');
      expect(retries).toEqual([]);
    });

    it('can be stopped', async () => {
      const stopped = importing(
        lines('{"n":1}'),
        (...request) => {
          respond(...request);
          run.stopping.abort(new Error('interrupted'));
        },
        { stopMs: 200 },
      );
      await expect(stopped).rejects.toThrow(new Error('stopped at line 1: interrupted'));
    });
  });

  it('reports refused plants with their text, in the order of the lines', async () => {
    let first: ServerResponse | undefined;
    const refused = await importing(lines('{"n":1}', '', '{"n":3}'), (_plant, response) => {
      first ??= response;
      if (response === first) return;
      refuse(response);
      response.on('close', () => refuse(first as ServerResponse));
    });
    expect(refused).toEqual([
      { line: 1, error: 1, message: 'no', plant: '{"n":1}' },
      { line: 3, error: 1, message: 'no', plant: '{"n":3}' },
    ]);
  });
});

interface Response {
  readonly status: number;
  readonly body: string;
  readonly headers?: Record<string, string>;
  /** Whether the connection breaks in the body. */
  readonly isCut?: true;
}

const PLANT = '{"id": 9007199254740993, "name": "Alder"}';
const STORED: Response = { status: 200, body: '{"name":"Alder"}' };
const OTHER = 'status 200 without the plant that was sent';
const UNAVAILABLE: Response = { status: 503, body: '{"error":5001,"message":"unavailable"}' };

describe('a response', () => {
  let sent: { readonly plant: string; readonly time: number }[];
  beforeEach(() => void (sent = []));

  /** Imports the plant; the last response is repeated. Resolves to its refusal, or why the import stopped. */
  async function send(responses: readonly Response[], tries = 3) {
    const respond: Listener = (plant, response, { socket }) => {
      sent.push({ plant, time: performance.now() });
      const next = responses[Math.min(sent.length, responses.length) - 1] ?? STORED;
      const length = next.body.length * (next.isCut ? 2 : 1);
      response.writeHead(next.status, { ...next.headers, 'content-length': length });
      response.write(next.body, () => (next.isCut ? socket.destroy() : response.end()));
    };
    return importing(lines(PLANT), respond, { tries }).then(
      ([refused]) => refused?.error ?? 'stored',
      (error: unknown) => describeError(error).replace('stopped at line 1: ', ''),
    );
  }

  it.each<Response>([
    UNAVAILABLE,
    { status: 408, body: '{"error":3004,"message":"late"}', headers: { connection: 'close' } },
    { status: 429, body: '{"error":4000,"message":"over the limit"}' },
    { status: 502, body: '<html>' },
    { ...STORED, isCut: true },
    { ...UNAVAILABLE, isCut: true },
  ])('that is not final has the same text sent again: %j', async (response) => {
    expect(await send([response, response, STORED])).toBe('stored');
    expect(sent.map(({ plant }) => plant)).toEqual([PLANT, PLANT, PLANT]);
    expect(run.counts).toMatchObject({ sent: 1, stored: 1 });
    expect(run.lastError).toBeUndefined();
  });

  it('with a Retry-After is waited for', async () => {
    const headers = { 'retry-after': '1' };
    expect(await send([{ ...UNAVAILABLE, headers }, STORED])).toBe('stored');
    const [first, second] = sent;
    expect(Number(second?.time) - Number(first?.time)).toBeGreaterThan(990);
  });

  it('with a long Retry-After is told as the reason to wait, which can be stopped', async () => {
    const ended = send([{ ...UNAVAILABLE, headers: { 'retry-after': '99999999999' } }]);
    while (run.lastError === undefined) await new Promise(setImmediate);
    expect(run.lastError).toBe('after 601 s: error 5001: unavailable');
    run.stopping.abort(new Error('interrupted'));
    expect(await ended).toBe('interrupted');
    expect(sent).toHaveLength(1);
    expect(run.counts.answeredLines).toBe(0);
  });

  it('that never comes stops the import after its tries', async () => {
    await end(server);
    expect(await send([])).toMatch(/^connect ECONNREFUSED 127/);
    expect(run.lastError).toMatch(/^after 1 s: connect ECONNREFUSED 127/);
    expect(run.counts).toEqual({ answeredLines: 0, sent: 0, stored: 0, refused: 0, notSent: 0 });
  });

  it('that never comes, as its connection is closed, is told with a remedy', async () => {
    server.removeAllListeners('request').on('connection', (socket) => socket.destroy());
    expect(await send([], 5)).toMatch(/ \(is it https\?\)$/);
    expect(retries).toEqual([expect.stringMatching(/^after 1 s: .* \(is it https\?\)$/)]);
  });

  it('that is too long each time stops the import after its tries', async () => {
    const outcome = await send([{ status: 200, body: ' '.repeat(2 ** 21) }], 2);
    expect(outcome).toMatch(/exceeded max size/);
    expect(sent).toHaveLength(2);
  });

  it.each([
    [403, '{"error":2002,"message":"\\u001b[2Jno"}', 'error 2002: \\u001b[2Jno'],
    [302, '', 'status 302, not from a plant store'],
    [404, '<html>', 'status 404, not from a plant store'],
    [400, 'Bad Request', 'status 400, not from a plant store'],
    ...['{"id":1}', 'null', '{"name":"alder"}', '{"name":"Alder","tag":""}'].map(
      (body) => [200, body, `${OTHER}, not from a plant store`] as const,
    ),
    [400, '{"error":1004,"message":"taken"}', 1004],
  ])('%i %s is final', async (status, body, outcome) => {
    expect(await send([{ status, body, headers: { location: '/elsewhere' } }])).toEqual(outcome);
    expect(sent).toHaveLength(1);
  });

  it('that repeats a line which is no plant counts nothing as stored', async () => {
    for (const line of ['{"id":1}', '{nope', '{"name":7}']) {
      const stopped = importing(lines(line), (_plant, response) => response.end(line));
      await expect(stopped).rejects.toThrow(`stopped at line 1: ${OTHER}`);
      expect(run.counts.stored).toBe(0);
    }
  });
});
