import type { Readable } from 'node:stream';

/** A line is refused if it is longer than 2 MiB, which is far more than a service takes. */
const MAX_LINE_LENGTH = 2 ** 21;

/** Reads the lines that are not blank, numbered from 1. @throws Error if one is too long, or the first is no object */
export async function* readLines(source: Readable): AsyncGenerator<[line: number, text: Buffer]> {
  let number = 0;
  let isFirst = true;
  for await (const bytes of splitLines(source)) {
    number += 1;
    // Editors on Windows put a byte order mark before the first line.
    const line = number === 1 ? bytes.replace(/^\xEF\xBB\xBF/, '') : bytes;
    if (line.length > MAX_LINE_LENGTH) throw new Error(`line ${number} is longer than 2 MiB`);
    if (line.trim() === '') continue;
    // Without this check every line of a file of another kind would be refused.
    if (isFirst && !/^\s*\{\s*\S/.test(line))
      throw new Error('not NDJSON: each line must be a whole JSON object, in UTF-8');
    isFirst = false;
    yield [number, Buffer.from(line, 'latin1')];
  }
}

/** Splits at line feeds, each byte as a character. Ends behind a line that is too long. */
async function* splitLines(source: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
    if (rest.length > MAX_LINE_LENGTH) break;
  }
  yield rest;
}

/** The members of a JSON object; none if the text is something else. */
export function parseMembers(json: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}
