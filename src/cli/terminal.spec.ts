/** @engine sqlite */
import { afterEach, expect, it, jest } from '@jest/globals';
import { showProgress } from './terminal.js';

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

it.each([
  [true, 12],
  [false, 2],
])('progress is shown until it is disposed; on a terminal: %s', (isTTY, times) => {
  jest.useFakeTimers();
  const written: string[] = [];
  const stderr = { isTTY, write: (text: string) => written.push(text) };
  jest.spyOn(process, 'stderr', 'get').mockReturnValue(stderr as unknown as typeof process.stderr);
  const progress = showProgress(() => 'far');
  jest.advanceTimersByTime(62_000);
  progress[Symbol.dispose]();
  jest.advanceTimersByTime(62_000);
  expect(written).toEqual(Array(times).fill('far\n'));
});
