/** @engine sqlite */
import { afterEach, expect, it, jest } from '@jest/globals';
import { showProgress } from './terminal.js';

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

it.each([
  [true, ['far\n', 'far\n']],
  [false, []],
])('progress is shown on a terminal, until it is disposed; terminal: %s', (isTTY, expected) => {
  jest.useFakeTimers();
  const written: string[] = [];
  const stderr = { isTTY, write: (text: string) => written.push(text) };
  jest.spyOn(process, 'stderr', 'get').mockReturnValue(stderr as unknown as typeof process.stderr);
  const progress = showProgress(() => 'far');
  jest.advanceTimersByTime(12_000);
  progress[Symbol.dispose]();
  jest.advanceTimersByTime(12_000);
  expect(written).toEqual(expected);
});
