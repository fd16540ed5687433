/** A seeded source of random numbers (mulberry32): the same seed gives the same numbers everywhere. */
export class Random {
  private state: number;

  /** @param seed of a whole run; @param index of what is made in it: each has numbers of its own */
  constructor(seed: number, index = 0) {
    this.state = (seed ^ Math.imul(index + 1, 0x9e3779b1)) | 0;
  }

  /** An integer from 0 up to a bound, which it never is. */
  below(bound: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }

  /** True once in so many times, on average. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  /** So many of the results of a function, in the order in which they were made. */
  several<Item>(count: number, make: (i: number) => Item): Item[] {
    return Array.from({ length: count }, (_, i) => make(i));
  }

  /** So many random bytes, as a text of Latin-1. */
  bytes(length: number): string {
    return this.several(length, () => String.fromCharCode(this.below(256))).join('');
  }
}
