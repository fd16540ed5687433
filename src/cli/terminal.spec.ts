/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { Progress } from './terminal.js';

describe('Progress', () => {
  const LINE = '[============            ]  50 % 1 stored';

  it.each([
    [true, '\r\u001B[Kline 7: no\n\r\u001B[K'],
    [false, 'line 7: no\n'],
  ])('leaves no bar beside a line that stays; terminal: %s', (isTTY, written) => {
    let text = '';
    const terminal = { isTTY, write: (more: string) => (text += more) };
    const progress = new Progress(() => LINE, terminal);
    progress.say('line 7: no');
    progress.end();
    expect(text).toBe(written);
  });

  it('draws a bar that is no wider than the terminal', async () => {
    let draw: (text: string) => void = () => undefined;
    const drawn = new Promise<string>((resolve) => (draw = resolve));
    const terminal = { isTTY: true, columns: 20, write: (text: string) => draw(text) };
    const progress = new Progress(() => LINE, terminal);
    expect(await drawn).toBe('\r\u001B[K[============      ');
    progress.end();
  });
});
