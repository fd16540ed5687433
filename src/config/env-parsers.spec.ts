/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { parseDuration } from './env-parsers.js';

describe('parseDuration', () => {
  it.each([
    ['45s', 45_000],
    ['30m', 1_800_000],
    ['12h', 43_200_000],
    ['90d', 7_776_000_000],
    ['2w', 1_209_600_000],
    ['99999w', 60_479_395_200_000],
  ])('reads %s', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(['', '90', 'd', '0d', '-1d', '1.5h', '1e3s', '90 d', '90D', '1y', '1d12h', '100000s'])(
    'refuses "%s"',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});
