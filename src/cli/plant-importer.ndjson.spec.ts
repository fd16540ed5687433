/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { assertNdjson, readNdjson } from './plant-importer.js';

/** Numbers and texts of the lines of a source that comes in chunks of so many bytes. */
async function linesOf(text: string, chunk: number, longest?: number): Promise<[number, string][]> {
  const bytes = Buffer.from(text);
  async function* source(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += chunk) {
      yield await Promise.resolve(bytes.subarray(at, at + chunk));
    }
  }
  const lines: [number, string][] = [];
  for await (const { number, text } of readNdjson(source(), longest)) {
    lines.push([number, text.toString()]);
  }
  return lines;
}

describe.each([1, 2, 3, 7, 1_000])('readNdjson, in chunks of %i bytes', (chunk) => {
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

  it.each(['[', ' [{"id":1},', '{\r', 'id,name,tag', 'nope', '\x1f\x8b\x08', '\xff\xfe{'])(
    'refuses %j in a line of 80 columns',
    (line) => {
      const message = 'not NDJSON: each line must be a whole JSON object';
      expect(() => assert(line)).toThrow(message);
      expect(`error: stopped: ${message}`.length).toBeLessThanOrEqual(80);
    },
  );
});
