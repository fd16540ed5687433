/** @engine sqlite */
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { readLines } from './ndjson.js';

/** Reads lines from chunks of a length. */
async function linesOf(input: string | Buffer, chunk: number): Promise<[number, string][]> {
  const bytes = Buffer.from(input);
  const starts = Array.from({ length: Math.ceil(bytes.length / chunk) }, (_, i) => i * chunk);
  const chunks = starts.map((start) => bytes.subarray(start, start + chunk));
  const lines: [number, string][] = [];
  for await (const [line, text] of readLines(Readable.from(chunks)))
    lines.push([line, text.toString('latin1')]);
  return lines;
}
const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

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
    expect(await linesOf(text, chunk)).toEqual(lines.map(([n, line]) => [n, latin1(line)]));
  });

  it('is read as it is if it is not UTF-8', async () => {
    const lines = await linesOf(Buffer.from('{\xff\xe4\n{\xa0', 'latin1'), chunk);
    expect(lines.map(([, line]) => line)).toEqual(['{\xff\xe4', '{\xa0']);
  });
});

it('a line may have 2 MiB and no more, with or without an end', async () => {
  const longest = '{'.repeat(2 ** 21);
  expect(await linesOf(`${longest}\n${longest}\n`, 2 ** 16)).toHaveLength(2);
  for (const end of ['', '\n']) {
    const read = linesOf(`{}\n${longest}{${end}`, 2 ** 16);
    await expect(read).rejects.toThrow(new Error('line 2 is longer than 2 MiB'));
  }
});

it.each(['{"id":1}', ' {"id":1}\r', '{bad'])('%j may be the first line', async (line) => {
  expect(await linesOf(line, 1_000)).toEqual([[1, line]]);
});

it.each(['[', ' [{"id":1},', '{\r', 'id,name,tag', 'nope', '\x1f\x8b\x08', '\xff\xfe{'])(
  '%j is refused as the first line',
  async (line) => {
    const read = linesOf(Buffer.from(line, 'latin1'), 1_000);
    await expect(read).rejects.toThrow(
      'not NDJSON: each line must be a whole JSON object, in UTF-8',
    );
  },
);
