/** A line of NDJSON that is not blank: the bytes before its line feed, and its number from 1. */
export interface Line {
  readonly number: number;
  readonly text: Buffer;
}

/** Bytes of the longest line that is read: far more than a service can be made to take. */
export const LONGEST_LINE = 2 ** 24;

const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/**
 * Reads NDJSON line by line and leaves the bytes as they are, so that no number loses a digit.
 * Blank lines count but are left out. No more than one chunk and one line are held.
 *
 * @throws Error where a line is longer than `longest` bytes
 */
export async function* readLines(
  source: AsyncIterable<Buffer>,
  longest = LONGEST_LINE,
): AsyncGenerator<Line> {
  let number = 1;
  let parts: Buffer[] = [];
  let size = 0;
  const take = (part: Buffer): void => {
    size += part.length;
    parts.push(part);
    if (size > longest) throw new Error(`line ${number} is longer than ${longest} bytes`);
  };
  for await (const chunk of source) {
    let start = 0;
    for (let end; (end = chunk.indexOf(LINE_FEED, start)) !== -1; start = end + 1) {
      take(chunk.subarray(start, end));
      yield* lineOf(number, parts);
      [number, parts, size] = [number + 1, [], 0];
    }
    take(chunk.subarray(start));
  }
  yield* lineOf(number, parts);
}

function* lineOf(number: number, parts: Buffer[]): Generator<Line> {
  const whole = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
  const text = number === 1 ? withoutMark(whole) : whole;
  if (!text.every(isSpace)) yield { number, text };
}

/** Editors on Windows put a mark before the first line, which is no part of it. */
function withoutMark(text: Buffer): Buffer {
  const isMarked = text.indexOf(BYTE_ORDER_MARK) === 0;
  return isMarked ? text.subarray(BYTE_ORDER_MARK.length) : text;
}

/** White space as JSON knows it (RFC 8259, section 2). */
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}
