/** @engine sqlite */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ERRORS } from '../errors/error-codes.js';
import { PlantsImport } from './plant-importer.js';
import type { Refused } from './plant-importer.js';
import { formatProgress } from './import.command.js';

let server: Server;
let run: PlantsImport;
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Imports a source into a server of one listener, four plants at a time. */
async function importing(source: Readable, listener: Listener) {
  server = createServer((request, response) => void listener(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}/base/`);
  const refused: Refused[] = [];
  const options = { url, token: 't', concurrency: 4, tries: 5 };
  run = new PlantsImport(options, new AbortController(), (plant) => refused.push(plant));
  await run.run(source);
  return { tally: run.tally, refused };
}

function store(response: ServerResponse): void {
  response.end('{"name":""}');
}

function refuse(response: ServerResponse, status: number, headers = {}): void {
  response.writeHead(status, headers).end('{"error":1,"message":"no"}');
}

describe('PlantsImport', () => {
  it('posts each line unchanged', async () => {
    const lines = ['{"id":9007199254740993,"name":"木"}', ' { "id" : 7.0 } \r'];
    const requests: unknown[] = [];
    const source = Readable.from([Buffer.from(lines.join('\n'))]);
    const { tally } = await importing(source, async (request, response) => {
      const { method, url, headers } = request;
      const { authorization, 'content-type': type, 'content-length': length } = headers;
      requests.push([method, url, authorization, type, length, await text(request)]);
      store(response);
    });
    const bytes = lines.map((line) => Buffer.byteLength(line));
    expect(requests).toEqual(
      lines.map((line, i) => [
        'POST',
        '/base/plants',
        'Bearer t',
        'application/json',
        String(bytes[i]),
        line,
      ]),
    );
    const total = (bytes[0] ?? 0) + (bytes[1] ?? 0) + 2;
    expect(tally).toEqual({ sent: 2, stored: 2, refused: 0, bytes: total });
  });

  it('reads no further ahead than the bound, over as many connections, however long', async () => {
    const plants = 4_000;
    // What Readable.from() reads ahead by itself: 16 chunks, which are lines here.
    const bound = 4 + 16 + 2;
    let [read, responses, ahead, connections] = [0, 0, 0, 0];
    function* lines(): Generator<Buffer> {
      for (; read < plants; read++) {
        ahead = Math.max(ahead, read - responses);
        yield Buffer.from(`{"id":${read},"name":"x"}\n`);
      }
    }
    const imported = importing(Readable.from(lines()), (request, response) => {
      request.resume().on('end', () => {
        responses += 1;
        store(response);
      });
    });
    server.on('connection', () => (connections += 1));
    expect((await imported).tally).toMatchObject({ stored: plants, refused: 0 });
    expect(ahead).toBeLessThanOrEqual(bound);
    expect(connections).toBeLessThanOrEqual(4);
  });

  it('sends each plant again after a 503, a 408 and a broken connection', async () => {
    const tries = new Map<string, number>();
    const lines = Array.from({ length: 8 }, (_, i) => `{"id":${i}}\n`);
    const source = Readable.from([Buffer.from(lines.join(''))]);
    const { tally } = await importing(source, async (request, response) => {
      const plant = await text(request);
      const number = (tries.get(plant) ?? 0) + 1;
      tries.set(plant, number);
      if (number === 1) refuse(response, 503, { 'retry-after': '0' });
      else if (number === 2) refuse(response, 408, { connection: 'close' });
      else if (number === 3) request.socket.destroy();
      else store(response);
    });
    expect(tally).toMatchObject({ stored: 8, refused: 0 });
    expect([...tries.values()]).toEqual(lines.map(() => 4));
  });

  it('counts the fields that the service ignores, by name, of stored plants', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `"more ${i}":${i}`);
    const lines = [
      '{"id":1,"name":"x","tga":"y"}',
      '{"id":2,"name":"x","tga":{"name":1},"__proto__":1}',
      '{"id":3,"tga":1}',
      `{"id":4,"name":"x",${names.join(',')}}`,
    ];
    const source = Readable.from([Buffer.from(lines.join('\n'))]);
    const { tally } = await importing(source, async (request, response) => {
      if ((await text(request)).includes('name')) store(response);
      else refuse(response, 400);
    });
    expect(tally).toMatchObject({ stored: 3, refused: 1 });
    const { __proto__: proto, ...counted } = Object.fromEntries(run.ignored);
    expect(proto).toBe(1);
    expect(counted).toMatchObject({ tga: 2, 'more 0': 1, others: 12 });
    expect(run.ignored.size).toBe(21);
  });

  it('stops at the first line without a response, even if its source says no more', async () => {
    const source = new PassThrough();
    source.write('{"n":1}\n{"n":2}\n{"n":3}\n');
    const stopped = importing(source, async (request, response) => {
      if ((await text(request)) === '{"n":2}') refuse(response, 401);
      else store(response);
    });
    await expect(stopped).rejects.toThrow(new Error('stopped at line 2: error 1: no'));
    expect(source.destroyed).toBe(true);
    expect(run.answeredLines).toBe(1);
  });

  it('stops if its source fails, once requests in flight have their responses', async () => {
    const source = new PassThrough();
    source.write('{"n":1}\n');
    const stopped = importing(source, (_request, response) => {
      source.destroy(new Error('the disk is gone'));
      store(response);
    });
    await expect(stopped).rejects.toThrow(new Error('stopped: the disk is gone'));
  });

  it('reports refused plants with their text', async () => {
    const source = Readable.from([Buffer.from('{}\n\n{"id":1}')]);
    const { tally, refused } = await importing(source, (_, response) => refuse(response, 400));
    expect(tally).toMatchObject({ stored: 0, refused: 2 });
    expect(refused.sort((a, b) => a.line - b.line)).toEqual([
      { line: 1, error: 1, message: 'no', plant: '{}' },
      { line: 3, error: 1, message: 'no', plant: '{"id":1}' },
    ]);
  });
});

describe('formatProgress', () => {
  const tally = { sent: 100, stored: 90, refused: 10, bytes: 500 };

  it.each([
    [0, undefined, '0.0 MB, 90 stored, 10 refused, 50/s'],
    [1_000, undefined, '[============            ]  50 % 90 stored, 10 refused, 50/s'],
    [400, undefined, '[========================] 100 % 90 stored, 10 refused, 50/s'],
    [
      1_000,
      'after 1 s: error 5002: overloaded',
      '90 stored, retrying after 1 s: error 5002: overloaded',
    ],
  ])('of %i bytes, behind the error %s', (size, lastError, line) => {
    expect(formatProgress({ tally, lastError }, size, 2)).toBe(line);
  });

  const retried = Object.values(ERRORS).filter(({ status }) => status === 408 || status >= 429);
  it.each(retried)('has room for error $error in 80 columns', (kind) => {
    const tally = { sent: 199_999_998, stored: 99_999_999, refused: 99_999_999, bytes: 1 };
    const lastError = `after 600 s: error ${kind.error}: ${kind.message}`;
    expect(formatProgress({ tally, lastError }, 1, 1).length).toBeLessThan(80);
    expect(formatProgress({ tally, lastError: undefined }, 1, 1).length).toBeLessThan(80);
  });
});
