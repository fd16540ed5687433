/** @engine sqlite */
import type { ServerResponse } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { importing, lines, run, server, startServers } from '../../test/cli/import-server.js';
import type { Listener } from '../../test/cli/import-server.js';

startServers();

const store = (response: ServerResponse) => response.end('{"name":""}');
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
        store(response);
      };
      await importing(lines(line), post, 1, path);
      expect(sent).toEqual(['POST', '/garden/plants', 'Bearer t', 'application/json', line]);
      const bytes = Buffer.byteLength(line) + 1;
      expect(run.tally).toEqual({ sent: 1, stored: 1, refused: 0, bytes });
    },
  );

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
    // On a busy machine it would end idle ones, and others would take their place.
    server.keepAliveTimeout = 0;
    server.on('connection', () => (connections += 1));
    await importing(Readable.from(lines()), (_plant, response) => {
      responses += 1;
      store(response);
    });
    expect(run.tally).toMatchObject({ stored: plants, refused: 0 });
    expect(ahead).toBeLessThanOrEqual(bound);
    expect(connections).toBeLessThanOrEqual(64);
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
