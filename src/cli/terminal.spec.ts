/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { formatProgress } from './import.command.js';
import { Progress } from './terminal.js';

describe('Progress', () => {
  const LINE = '[============            ]  50 % 1 stored';

  it.each([
    [true, '\r\u001B[Kline 7: no\n\r\u001B[K'],
    [false, 'line 7: no\n'],
  ])('leaves no bar beside a line that stays; terminal: %s', (isTTY, written) => {
    let text = '';
    const terminal = { isTTY, columns: 80, write: (more: string) => (text += more) };
    using progress = new Progress(() => LINE, terminal);
    progress.print('line 7: no');
    progress[Symbol.dispose]();
    expect(text).toBe(written);
  });

  it('draws a bar that is no wider than the terminal', async () => {
    const drawn = Promise.withResolvers<string>();
    const terminal = { isTTY: true, columns: 20, write: drawn.resolve };
    using _progress = new Progress(() => LINE, terminal);
    expect(await drawn.promise).toBe('\r\u001B[K[============      ');
  });
});

const WAITING = 'after 1 s: error 5002: overloaded';
const tally = { sent: 100, stored: 90, refused: 10, bytes: 500 };

it.each([
  [0, undefined, '0.0 MB, 90 stored, 10 refused, 50/s'],
  [1_000, undefined, '[============            ]  50 % 90 stored, 10 refused, 50/s'],
  [400, undefined, '[========================] 100 % 90 stored, 10 refused, 50/s'],
  [1_000, WAITING, `90 stored, retrying ${WAITING}`],
])('formatProgress of %i bytes, behind the error %s', (size, lastError, line) => {
  expect(formatProgress({ tally, lastError }, size, 2)).toBe(line);
});
