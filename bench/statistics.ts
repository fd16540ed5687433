/** The middle of some values, and how far they lie apart. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @throws RangeError where there are no values */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const half = (sorted.length - 1) / 2;
  const [min, max] = [sorted.at(0), sorted.at(-1)];
  const [low, high] = [sorted[Math.floor(half)], sorted[Math.ceil(half)]];
  if (min === undefined || max === undefined || low === undefined || high === undefined) {
    throw new RangeError('no values');
  }
  return { median: (low + high) / 2, min, max };
}
