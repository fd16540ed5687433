/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { Progress } from './progress.js';

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
