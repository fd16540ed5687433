import { openSync, writeFileSync } from 'node:fs';
import { printable } from './reason.js';

/** A line of NDJSON that is not blank: the bytes before its line feed, and its number from 1. */
export interface Line {
  readonly number: number;
  readonly text: Buffer;
}

/** A plant that the service refused: its line's number and text, and the service's Error body. */
export interface Refused {
  readonly line: number;
  readonly error: number;
  readonly message: string;
  readonly plant: string;
}

/** Bytes of the longest line that is read: far more than a service can be configured to take. */
const MAX_LINE_LENGTH = 2 ** 24;

/** Refused plants that are shown one by one where a file has them all. */
const MAX_SHOWN = 20;

const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/**
 * Reads NDJSON line by line and leaves the bytes as they are, so that no number loses a digit.
 * Blank lines count but are left out. At most one chunk and one line are held.
 *
 * @throws Error where a line is longer than `maxLength` bytes
 */
export async function* readLines(
  source: AsyncIterable<Buffer>,
  maxLength = MAX_LINE_LENGTH,
): AsyncGenerator<Line> {
  let number = 1;
  let rest: Buffer = Buffer.alloc(0);
  const assertLength = ({ length }: Buffer): void => {
    if (length > maxLength) throw new Error(`line ${number} is longer than ${maxLength} bytes`);
  };
  for await (const chunk of source) {
    // The line's earlier chunks have no line feed.
    let from = rest.length;
    rest = Buffer.concat([rest, chunk]);
    for (let end; (end = rest.indexOf(LINE_FEED, from)) !== -1; number += 1) {
      const line = rest.subarray(0, end);
      assertLength(line);
      yield* lineOf(number, line);
      rest = rest.subarray(end + 1);
      from = 0;
    }
    assertLength(rest);
  }
  yield* lineOf(number, rest);
}

function* lineOf(number: number, bytes: Buffer): Generator<Line> {
  // Editors on Windows put a mark before the first line, which is no part of it.
  const isMarked = number === 1 && bytes.indexOf(BYTE_ORDER_MARK) === 0;
  const text = isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
  if (!text.every(isSpace)) yield { number, text };
}

const NDJSON = 'NDJSON, one JSON object per line';

/**
 * Looks at the first line of a source, before every line of it is refused.
 *
 * @throws Error naming what the source is instead of NDJSON
 */
export function assertNdjson({ text }: Line): void {
  const line = text.toString('latin1').trim();
  if (line === '{') throw new Error('an object over several lines: jq -c . makes it NDJSON');
  if (line.startsWith('{')) return;
  if (line.startsWith('[')) throw new Error("a JSON array: jq -c '.[]' (jq 1.7) makes it NDJSON");
  if (line.startsWith('\x1f\x8b')) throw new Error('compressed: pipe it through zcat');
  if (line.startsWith('\xff\xfe')) throw new Error('UTF-16: iconv -f UTF-16 -t UTF-8 converts it');
  throw new Error(/[,;\t]/.test(line) ? `CSV, not ${NDJSON}` : `not ${NDJSON}`);
}

/** White space as JSON knows it (RFC 8259, section 2). */
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}

/**
 * Makes the reporter of refused plants: a line each for the operator, and NDJSON of
 * {@link Refused} in a file, if one is named. With a file, the lines for the operator end after 20.
 *
 * @throws Error at once where the file cannot be written
 */
export function rejectReporter(file: string | undefined, say: (line: string) => void) {
  const descriptor = file === undefined ? undefined : openSync(file, 'w');
  let count = 0;
  return (refused: Refused): void => {
    const { line, error, message } = refused;
    count += 1;
    if (file === undefined || count <= MAX_SHOWN) {
      say(`line ${line}: error ${error}: ${printable(message)}`);
    } else if (count === MAX_SHOWN + 1) say(`further refused plants are only in ${file}`);
    // Synchronous, so that the file is whole however the import ends.
    if (descriptor !== undefined) writeFileSync(descriptor, `${JSON.stringify(refused)}\n`);
  };
}
