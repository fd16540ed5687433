import { describe, expect, it } from '@jest/globals';
import { BackOff } from './back-off.js';

describe('BackOff', () => {
  it('waits not at all, then longer each time, up to 30 s', () => {
    const backOff = new BackOff();
    const waits = Array.from({ length: 12 }, () => backOff.next(59_999));
    expect(waits).toEqual([
      0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000,
    ]);
  });

  it('begins anew with a process that lived for a minute', () => {
    const backOff = new BackOff();
    for (const lived of [0, 0, 0]) backOff.next(lived);
    expect([60_000, 0, 0].map((lived) => backOff.next(lived))).toEqual([0, 100, 200]);
  });
});
