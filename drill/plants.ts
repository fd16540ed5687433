import { randomFillSync } from 'node:crypto';

/** A plant as it is sent, and as it must be found. */
export interface Plant {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
}

/** An odd factor: no two multiples of it are the same modulo 2^64. */
const STEP = 2_862_933_555_777_941_757n;

/** Ids from the whole of int64 that look random, each once. */
export class Ids {
  private last = randomFillSync(new BigInt64Array(1))[0] ?? 0n;

  next(): bigint {
    this.last = BigInt.asIntN(64, this.last + STEP);
    return this.last;
  }
}

/** The plant of an id. All of it follows from the id, so that no more than the id need be kept. */
export function plantOf(id: bigint): Plant {
  const digits = BigInt.asUintN(64, id).toString(36);
  return { id, name: `n ${digits} 🌵`, tag: id % 5n === 0n ? null : `t'${digits}"\\` };
}

/** The body of a request for a plant; the id goes as its decimal digits. */
export function bodyOf({ id, name, tag }: Plant): string {
  const fields = JSON.stringify({ name, ...(tag !== null && { tag }) });
  return `{"id":${id.toString()},${fields.slice(1)}`;
}
