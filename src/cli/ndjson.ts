import { openSync, writeFileSync } from 'node:fs';
import { toPrintable } from './terminal.js';

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

/** In bytes: far more than a service can be configured to take. */
const MAX_LINE_LENGTH = 2 ** 24;

/** Refused plants listed on stderr if a file has them all. */
const MAX_LISTED = 20;

/** White space within a line (RFC 8259, section 2). */
const JSON_SPACE = Buffer.from(' \t\r');
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/**
 * Reads NDJSON line by line and keeps the bytes as they are, so that no number loses a digit.
 * Blank lines count but are left out. Memory holds at most one chunk and one line.
 *
 * @throws Error if a line is longer than `maxLength` bytes
 */
export async function* readNdjson(
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
    for (let end; (end = rest.indexOf('\n', from)) !== -1; number += 1) {
      const line = rest.subarray(0, end);
      assertLength(line);
      yield* skipBlank(number, line);
      rest = rest.subarray(end + 1);
      from = 0;
    }
    assertLength(rest);
  }
  yield* skipBlank(number, rest);
}

function* skipBlank(number: number, bytes: Buffer): Generator<Line> {
  // Editors on Windows put a byte order mark before the first line.
  const isMarked = number === 1 && bytes.indexOf(BYTE_ORDER_MARK) === 0;
  const text = isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
  if (!text.every((byte) => JSON_SPACE.includes(byte))) yield { number, text };
}

/**
 * Checks the first line of a source, so that a file of another kind does not have every line refused.
 *
 * @throws Error if it is no start of a JSON object, or only its opening brace
 */
export function assertNdjson({ text }: Line): void {
  if (!/^\s*\{\s*\S/.test(text.toString('latin1'))) {
    throw new Error('not NDJSON: each line must be a whole JSON object');
  }
}

/**
 * Creates a function that reports refused plants: a line each for the operator, and NDJSON of {@link Refused}
 * in a file, if given. With a file, the operator sees only the first 20.
 *
 * @throws Error at once if the file cannot be written
 */
export function createRejectReporter(file: string | undefined, say: (line: string) => void) {
  const descriptor = file === undefined ? undefined : openSync(file, 'w');
  let count = 0;
  return (refused: Refused): void => {
    const { line, error, message } = refused;
    count += 1;
    if (file === undefined || count <= MAX_LISTED) {
      say(`line ${line}: error ${error}: ${toPrintable(message)}`);
    } else if (count === MAX_LISTED + 1) say(`further refused plants are only in ${file}`);
    // Synchronous: the file is whole even if the process ends now.
    if (descriptor !== undefined) writeFileSync(descriptor, `${JSON.stringify(refused)}\n`);
  };
}
