/** @engine sqlite */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PlantsImport } from './plant-importer.js';

/** What was sent, each byte as a character. */
let sent: string[];
let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => {
    void buffer(request).then((body) => {
      sent.push(body.toString('latin1'));
      response.writeHead(400).end('{"error":1,"message":"no"}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
beforeEach(() => {
  sent = [];
});
afterAll(() => void server.close());

/** Imports bytes that come in chunks of a length, into a service that refuses all. Returns the lines that it reports. */
async function linesOf(input: string | Buffer, chunk: number): Promise<[number, string][]> {
  const bytes = Buffer.from(input);
  const starts = Array.from({ length: Math.ceil(bytes.length / chunk) }, (_, i) => i * chunk);
  const chunks = starts.map((start) => bytes.subarray(start, start + chunk));
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}`);
  const options = { url, token: 't', concurrency: 1, tries: 1 };
  const lines: [number, string][] = [];
  await new PlantsImport(options, new AbortController(), ({ line, plant }) =>
    lines.push([line, plant]),
  ).run(Readable.from(chunks));
  return lines;
}

describe.each([1, 2, 3, 7, 1_000])('NDJSON in chunks of %i bytes', (chunk) => {
  it.each<[string, string, ...[number, string][]]>([
    ['nothing', ''],
    ['a last line without an end', '{a\n{b', [1, '{a'], [2, '{b']],
    ['a last line with an end', '{a\n{b\n', [1, '{a'], [2, '{b']],
    ['blank lines, which count', '\n \t\n{a\n\r\n\nb\n\n', [3, '{a'], [6, 'b']],
    ['characters of several bytes', '{Ähre 🌱\n木\n', [1, '{Ähre 🌱'], [2, '木']],
    ['a byte order mark', '\uFEFF{a\n\uFEFFb', [1, '{a'], [2, '\uFEFFb']],
    ['white space of a line, as it is', ' {a \r\nb', [1, ' {a \r'], [2, 'b']],
  ])('has %s', async (_what, text, ...lines) => {
    expect(await linesOf(text, chunk)).toEqual(lines);
    expect(sent).toEqual(lines.map(([, line]) => Buffer.from(line).toString('latin1')));
  });

  it('is sent as it is if it is not UTF-8', async () => {
    await linesOf(Buffer.from('{\xff\xe4\n{\xa0', 'latin1'), chunk);
    expect(sent).toEqual(['{\xff\xe4', '{\xa0']);
  });
});

it('import stops at a line that is too long, with or without an end, and takes the longest', async () => {
  const longest = '{'.repeat(2 ** 21);
  expect(await linesOf(`${longest}\n${longest}\n`, 2 ** 16)).toHaveLength(2);
  for (const end of ['', '\n']) {
    await expect(linesOf(`{}\n${longest}{${end}`, 2 ** 16)).rejects.toThrow(
      new Error('stopped: line 2 is longer than 2 MiB'),
    );
  }
});

describe('the first line', () => {
  it.each(['{"id":1}', ' {"id":1}\r', '{bad'])('%j is sent', async (line) => {
    expect(await linesOf(line, 1_000)).toEqual([[1, line]]);
  });

  it.each(['[', ' [{"id":1},', '{\r', 'id,name,tag', 'nope', '\x1f\x8b\x08', '\xff\xfe{'])(
    '%j ends the import with a line of 80 columns',
    async (line) => {
      const message = 'stopped: not NDJSON: each line must be a whole JSON object';
      const ended = linesOf(Buffer.from(line, 'latin1'), 1_000);
      await expect(ended).rejects.toThrow(new Error(message));
      expect(`error: ${message}`.length).toBeLessThanOrEqual(80);
      expect(sent).toEqual([]);
    },
  );
});
