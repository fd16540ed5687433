/** @engine sqlite */
import { afterEach, expect, it, jest } from '@jest/globals';
import { Stopwatch } from './stopwatch.js';

afterEach(() => {
  jest.restoreAllMocks();
});

/** Has both clocks stand, at these milliseconds. */
function setClocks(monotonic: number, wall: number): void {
  jest.spyOn(performance, 'now').mockReturnValue(monotonic);
  jest.spyOn(Date, 'now').mockReturnValue(wall);
}

const HOUR = 3_600_000;

it.each([
  ['both clocks run', 4_000, 4_000, 4_000],
  ['the machine is suspended: the monotonic clock stands still', 0, HOUR, HOUR],
  ['the wall clock is set back', 4_000, -HOUR, 4_000],
  ['the wall clock is set forward', 4_000, HOUR, HOUR],
])('%s', (_what, monotonic, wall, elapsed) => {
  setClocks(10_000, 2 * HOUR);
  const stopwatch = new Stopwatch();
  expect(stopwatch.elapsedMs).toBe(0);
  setClocks(10_000 + monotonic, 2 * HOUR + wall);
  expect(stopwatch.elapsedMs).toBe(elapsed);
});
