/** @engine sqlite */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ERRORS } from '../errors/error-codes.js';
import { PlantsImport, type Refused } from './plant-importer.js';
import { formatProgress } from './import.command.js';

let server: Server;
let run: PlantsImport;
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

type Listener = (plant: string, response: ServerResponse, request: IncomingMessage) => unknown;

/** Imports a source into a server of one listener. */
async function importing(source: Readable, listener: Listener) {
  server = createServer((request, response) => {
    void text(request).then((plant) => listener(plant, response, request));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const refused: Refused[] = [];
  const options = { url: new URL(`http://127.0.0.1:${port}`), token: 't', tries: 5 };
  run = new PlantsImport(options, new AbortController(), (plant) => refused.push(plant));
  await run.run(source);
  return { tally: run.tally, refused };
}

const lines = (...text: string[]): Readable => Readable.from([Buffer.from(text.join('\n'))]);
const store = (response: ServerResponse) => response.end('{"name":""}');
const refuse = (response: ServerResponse, status = 400) =>
  response.writeHead(status).end('{"error":1,"message":"no"}');

describe('PlantsImport', () => {
  it('posts a line unchanged', async () => {
    const line = ' { "id" : 9007199254740993, "name": "木" } \r';
    let sent: unknown[] = [];
    const { tally } = await importing(lines(line), (plant, response, { method, headers }) => {
      sent = [method, headers.authorization, headers['content-type'], plant];
      store(response);
    });
    expect(sent).toEqual(['POST', 'Bearer t', 'application/json', line]);
    const bytes = Buffer.byteLength(line) + 1;
    expect(tally).toEqual({ sent: 1, stored: 1, refused: 0, bytes });
  });

  it('reads no further ahead than the bound, over 64 connections, however long', async () => {
    const plants = 4_000;
    // The lines in memory, and what Readable.from() reads ahead by itself.
    const bound = 64 + 16 + 2;
    let [read, responses, ahead, connections] = [0, 0, 0, 0];
    function* lines(): Generator<Buffer> {
      for (; read < plants; read++) {
        ahead = Math.max(ahead, read - responses);
        yield Buffer.from(`{"id":${read},"name":"x"}\n`);
      }
    }
    const imported = importing(Readable.from(lines()), (_plant, response) => {
      responses += 1;
      store(response);
    });
    server.on('connection', () => (connections += 1));
    expect((await imported).tally).toMatchObject({ stored: plants, refused: 0 });
    expect(ahead).toBeLessThanOrEqual(bound);
    expect(connections).toBeLessThanOrEqual(64);
  });

  it('counts the fields that the service ignores, by name, of stored plants', async () => {
    const more = Array.from({ length: 30 }, (_, i) => `"more ${i}":${i}`);
    const source = lines(
      '{"id":1,"name":"x","tga":"y"}',
      '{"id":2,"name":"x","tga":{"name":1},"__proto__":1}',
      '{"id":3,"tga":1}',
      `{"id":4,"name":"x",${more.join(',')}}`,
    );
    await importing(source, (plant, response) => {
      if (plant.includes('name')) store(response);
      else refuse(response);
    });
    const counted = Array.from(run.ignored).filter(([name]) => !name.startsWith('more'));
    expect(counted).toEqual([
      ['tga', 2],
      ['__proto__', 1],
      ['others', 12],
    ]);
  });

  it('stops at the first line without a response, even if its source says no more', async () => {
    const source = new PassThrough();
    source.write('{"n":1}\n{"n":2}\n{"n":3}\n');
    const stopped = importing(source, (plant, response) => {
      if (plant === '{"n":2}') refuse(response, 401);
      else store(response);
    });
    await expect(stopped).rejects.toThrow(new Error('stopped at line 2: error 1: no'));
    expect(source.destroyed).toBe(true);
    expect(run.answeredLines).toBe(1);
  });

  it('stops if its source fails, once requests in flight have their responses', async () => {
    const source = new PassThrough();
    source.write('{"n":1}\n');
    const stopped = importing(source, (_plant, response) => {
      source.destroy(new Error('the disk is gone'));
      store(response);
    });
    await expect(stopped).rejects.toThrow(new Error('stopped: the disk is gone'));
    expect(run.tally.stored).toBe(1);
  });

  it('reports refused plants with their text, in the order of the lines', async () => {
    let first: ServerResponse | undefined;
    const imported = importing(lines('{"n":1}', '', '{"n":3}'), (_plant, response) => {
      first ??= response;
      if (response === first) return;
      refuse(response);
      response.on('close', () => refuse(first as ServerResponse));
    });
    const refused = { error: 1, message: 'no' };
    expect((await imported).refused).toEqual([
      { line: 1, ...refused, plant: '{"n":1}' },
      { line: 3, ...refused, plant: '{"n":3}' },
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
