/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { assertNdjson, readLines } from './ndjson.js';

/** Numbers and texts of the lines of a source that comes in chunks of so many bytes. */
async function linesOf(text: string, chunk: number, longest?: number): Promise<[number, string][]> {
  const bytes = Buffer.from(text);
  async function* source(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += chunk) {
      yield await Promise.resolve(bytes.subarray(at, at + chunk));
    }
  }
  const lines: [number, string][] = [];
  for await (const { number, text } of readLines(source(), longest)) {
    lines.push([number, text.toString()]);
  }
  return lines;
}

describe.each([1, 2, 3, 7, 1_000])('readLines, in chunks of %i bytes', (chunk) => {
  it.each<[string, string, [number, string][]]>([
    ['nothing', '', []],
    [
      'a last line without an end',
      'a\nb',
      [
        [1, 'a'],
        [2, 'b'],
      ],
    ],
    [
      'a last line with an end',
      'a\nb\n',
      [
        [1, 'a'],
        [2, 'b'],
      ],
    ],
    [
      'blank lines, which count',
      '\n \t\na\n\r\n\nb\n\n',
      [
        [3, 'a'],
        [6, 'b'],
      ],
    ],
    [
      'characters of several bytes',
      'Ähre 🌱\n木\n',
      [
        [1, 'Ähre 🌱'],
        [2, '木'],
      ],
    ],
    [
      'a byte order mark',
      '\uFEFFa\n\uFEFFb',
      [
        [1, 'a'],
        [2, '\uFEFFb'],
      ],
    ],
    [
      'white space of a line, as it is',
      ' a \r\nb',
      [
        [1, ' a \r'],
        [2, 'b'],
      ],
    ],
  ])('reads %s', async (_what, text, lines) => {
    expect(await linesOf(text, chunk)).toEqual(lines);
  });

  it('refuses a line that is too long, with or without an end, and takes the longest', async () => {
    expect(await linesOf('abc\nabcd\n', chunk, 4)).toEqual([
      [1, 'abc'],
      [2, 'abcd'],
    ]);
    await expect(linesOf('abc\nabcde\n', chunk, 4)).rejects.toThrow(
      'line 2 is longer than 4 bytes',
    );
    await expect(linesOf('abcde', chunk, 4)).rejects.toThrow('line 1 is longer than 4 bytes');
  });
});

describe('assertNdjson', () => {
  const assert = (line: string) => assertNdjson({ number: 1, text: Buffer.from(line, 'latin1') });

  it.each(['{"id":1}', ' {"id":1}\r', '{bad'])('takes %j', (line) => {
    expect(() => assert(line)).not.toThrow();
  });

  it.each([
    ['[', /^a JSON array: jq/],
    [' [{"id":1},', /^a JSON array: jq/],
    ['{\r', /^an object over several lines: jq/],
    ['id,name,tag', /^CSV, not NDJSON/],
    ['1;Alder', /^CSV, not NDJSON/],
    ['nope', /^not NDJSON/],
    ['\x1f\x8b\x08', /^compressed/],
    ['\xff\xfe{', /^UTF-16/],
  ])('names %j for what it is, in a line of 80 columns', (line, message) => {
    expect(() => assert(line)).toThrow(message);
    try {
      assert(line);
    } catch (error) {
      expect(`error: stopped: ${(error as Error).message}`.length).toBeLessThanOrEqual(80);
    }
  });
});
