import { randomFillSync } from 'node:crypto';

/** A plant as it is sent, and as it must be found. */
export interface Plant {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
}

/** An odd factor: no two multiples of it are the same modulo 2^64. */
const STEP = 2_862_933_555_777_941_757n;

/** One of so many plants has a name of some 9 kB, which lies on pages of its own in SQLite. */
const LONG = 64n;
const LONG_NAME = 700;

/** Ids from the whole of int64 that look random, each once. */
export class Ids {
  private last = randomFillSync(new BigInt64Array(1))[0] ?? 0n;

  /** @param areLong whether all plants have long names */
  constructor(private readonly areLong = false) {}

  next(): bigint {
    this.last += STEP;
    return BigInt.asIntN(64, this.areLong ? LONG * this.last : this.last);
  }
}

/** The plant of an id. All of it follows from the id, so that no more than the id need be kept. */
export function plantOf(id: bigint): Plant {
  const digits = BigInt.asUintN(64, id).toString(36);
  const name = id % LONG === 0n ? digits.repeat(LONG_NAME) : `n ${digits} 🌵`;
  return { id, name, tag: id % 5n === 0n ? null : `t'${digits}"\\` };
}

/** The body of a request for a plant; the id goes as its decimal digits. */
export function bodyOf({ id, name, tag }: Plant): string {
  const fields = JSON.stringify({ name, ...(tag !== null && { tag }) });
  return `{"id":${id.toString()},${fields.slice(1)}`;
}
