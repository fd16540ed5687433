/** @engine sqlite */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { AvailabilityLog } from './availability-log.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('logs the reason at once, then once a minute while failures go on, and the end', () => {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const availability = new AvailabilityLog({ log: write, error: write }, 'the store');
  const takeLines = () => lines.splice(0);

  // The clock does not begin with the outage.
  jest.advanceTimersByTime(7_000);
  availability.markAvailable();
  availability.markUnavailable(new Error('disk full'));
  expect(takeLines()).toEqual(['the store is unavailable: disk full']);
  for (let second = 0; second < 120; second++) {
    jest.advanceTimersByTime(1_000);
    availability.markUnavailable(new Error('read-only'));
  }
  expect(takeLines()).toEqual([
    'the store is unavailable: read-only',
    'the store is unavailable: read-only',
  ]);
  // Without a failure there is no news.
  jest.advanceTimersByTime(120_000);
  expect(takeLines()).toEqual([]);
  availability.markAvailable();
  availability.markAvailable();
  expect(takeLines()).toEqual(['the store is available again after 240.0 s']);

  // Each outage is logged at once, however short the time since the last line.
  for (const reason of ['gone', 'gone again']) {
    availability.markUnavailable(new Error(reason));
    jest.advanceTimersByTime(1_500);
    availability.markAvailable();
    expect(takeLines()).toEqual([
      `the store is unavailable: ${reason}`,
      'the store is available again after 1.5 s',
    ]);
  }
});

it('logs a diagnosis at once, and then once a minute', () => {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const availability = new AvailabilityLog({ log: write, error: write }, 'the store');
  availability.markUnavailable(new Error('no such table'));
  for (let second = 0; second < 60; second++) {
    availability.markUnavailable(new Error('renamed: rename it back'), true);
    availability.markUnavailable(new Error('no such table'));
    jest.advanceTimersByTime(500);
  }
  expect(lines).toEqual([
    'the store is unavailable: no such table',
    'the store is unavailable: renamed: rename it back',
  ]);
});
