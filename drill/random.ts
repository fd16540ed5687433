/** A seeded source of random choices. */
export class Random {
  private state: number;

  /** @param seed of a whole run @param index of one item in it, which gets its own numbers */
  constructor(seed: number, index = 0) {
    this.state = seed ^ Math.imul(index + 1, 0x9e3779b1);
  }

  /** A number of [0, 1) (mulberry32, by Tommy Ettinger, public domain). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 to below the bound. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  /** True once in `times`, on average. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  /** `count` of the items in random order. */
  sample<Item>(items: readonly Item[], count: number): Item[] {
    const keyed = items.map((item) => ({ item, key: this.next() })).sort((a, b) => a.key - b.key);
    return keyed.slice(0, count).map(({ item }) => item);
  }
}
