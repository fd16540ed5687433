import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ERRORS } from '../src/errors/error-codes.js';
import type { Client } from '../test/support/client.js';
import type { StoredPlant } from '../test/support/temporary-store.js';

/** The limit of a request in milliseconds: DATABASE_TIMEOUT, and the delay of a busy machine. */
export const LONGEST_MS = 5_000 + 500;
/** Milliseconds after which a request hangs. */
const HANGING_MS = 20_000;
/** One of 64 plants has a name of some 9 kB, which takes its own pages in SQLite. */
export const LONG = 64n;
/** An odd factor: no two multiples of it are the same modulo 2^64. */
export const STEP = 2_862_933_555_777_941_757n;

/** The plant of an id, computed from it, so that only the id need be kept. */
export function plantOf(id: bigint): StoredPlant {
  const digits = BigInt.asUintN(64, id).toString(36);
  const name = id % LONG === 0n ? digits.repeat(700) : `n ${digits} 🌵`;
  return { id, name, tag: id % 5n === 0n ? null : `t'${digits}"\\` };
}

interface Content {
  readonly name: string;
  readonly tag?: string;
}

/** The plant as a client sends it, without its id. */
export function contentOf(id: bigint): Content {
  const { name, tag } = plantOf(id);
  return { name, ...(tag !== null && { tag }) };
}

/**
 * The result of a request: 200, the id taken by another client, 503 as the store is unavailable, a broken connection,
 * none, or what must never come.
 */
export type Outcome = 'acknowledged' | 'taken' | 'refused' | 'unknown' | 'unreachable' | 'wrong';

/** Sends the plant of an id. `took` is in milliseconds. */
export async function send(client: Client, id: bigint, content = contentOf(id)) {
  const sent = performance.now();
  const hangs = sleep(HANGING_MS, ['wrong', 'no response'] as const, { ref: false });
  const [kind, text] = await Promise.race([exchange(client, id, content), hangs]);
  return { kind, text, took: performance.now() - sent };
}

async function exchange(
  client: Client,
  id: bigint,
  content: Content,
): Promise<readonly [Outcome, string]> {
  try {
    const { status, body, text, headers } = await client.create({ id, ...content });
    if (status === 200 && isDeepStrictEqual(body, content)) return ['acknowledged', text];
    const { error } = (body ?? {}) as { error?: number };
    if (status === 400 && error === ERRORS.ID_TAKEN.error) return ['taken', text];
    const isRefused = error === ERRORS.STORE_UNAVAILABLE.error && headers['retry-after'];
    return [isRefused ? 'refused' : 'wrong', `${status} ${text}`];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) return ['wrong', String(error)];
    return [code === 'ECONNREFUSED' ? 'unreachable' : 'unknown', String(error)];
  }
}
