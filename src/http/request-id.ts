import { randomFillSync } from 'node:crypto';
import { redact } from './redact.js';

/** What a client may name its request: nothing that could pass for more than a word in a log. */
const SANE = /^[\w.:@/+=-]{1,128}$/;

/** Random bytes of an id, and of those that are fetched at once. */
const ID_BYTES = 12;
const pool = Buffer.allocUnsafe(ID_BYTES * 256);
let used = pool.length;

/** The request's id: that of its `X-Request-Id` where it is sane, else a new one. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && isSane(header) ? header : newRequestId();
}

/**
 * A new id: 96 random bits in 24 hexadecimal digits. It takes 0.1 µs, with Node's check of a header's
 * value, and crypto.randomUUID(), whose text is put together of many, 0.25 to 0.4 (same run).
 */
export function newRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  return pool.toString('hex', used, (used += ID_BYTES));
}

/** A token that was taken for an id would go to the collector of traces, and back in the answer. */
function isSane(id: string): boolean {
  return SANE.test(id) && redact(id) === id;
}
