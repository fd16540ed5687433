import { randomFrom, type Random as Numbers } from '../random.js';

/** A seeded source of random choices: the same seed gives the same ones everywhere. */
export class Random {
  private readonly next: Numbers;

  /** @param seed of a whole run; @param index of what is made in it: each has numbers of its own */
  constructor(seed: number, index = 0) {
    this.next = randomFrom(seed ^ Math.imul(index + 1, 0x9e3779b1));
  }

  /** An integer from 0 up to a bound, which it never is. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
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
