/** Numbers of [0, 1) that follow from a seed (mulberry32, by Tommy Ettinger, public domain). */
export type Random = () => number;

export function randomFrom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Some of the values, each with the same chance, in a random order. */
export function sample<T>(values: readonly T[], count: number, random: Random): T[] {
  const left = [...values];
  for (let i = 0; i < Math.min(count, left.length); i++) {
    const j = i + Math.floor(random() * (left.length - i));
    [left[i], left[j]] = [left[j] as T, left[i] as T];
  }
  return left.slice(0, count);
}
