/** @engine sqlite */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Progress } from './terminal.js';

describe('Progress', () => {
  afterEach(() => void jest.restoreAllMocks());

  function mockStderr(isTTY: boolean, write: (text: string) => void): void {
    const terminal = { isTTY, columns: 20, write } as unknown as typeof process.stderr;
    jest.spyOn(process, 'stderr', 'get').mockReturnValue(terminal);
  }

  it.each([
    [true, '\r\u001B[Kline 7: no\n\r\u001B[K'],
    [false, 'line 7: no\n'],
  ])('leaves nothing beside a line that stays; terminal: %s', (isTTY, written) => {
    let text = '';
    mockStderr(isTTY, (more) => (text += more));
    using progress = new Progress(() => '1 stored');
    progress.print('line 7: no');
    progress[Symbol.dispose]();
    expect(text).toBe(written);
  });

  it('draws a line that is no wider than the terminal', async () => {
    const drawn = Promise.withResolvers<string>();
    mockStderr(true, drawn.resolve);
    using _progress = new Progress(() => '1234567 stored, 8 refused, 9/s');
    expect(await drawn.promise).toBe('\r\u001B[K1234567 stored, 8 r');
  });
});
