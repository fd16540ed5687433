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

/** A plant, computed from its id and the number of its content (0–9), so that only these need be kept. */
export function plantOf(id: bigint, content = 0): StoredPlant {
  const digits = BigInt.asUintN(64, id).toString(36);
  const name = id % LONG === 0n ? digits.repeat(700) : `n ${digits} 🌵`;
  return { id, name: `${content} ${name}`, tag: id % 5n === 0n ? null : `t'${digits}"\\` };
}

/** The number of a plant's content; undefined if it is none of {@link plantOf}. */
export function contentOf(plant: StoredPlant): number | undefined {
  const content = Number(plant.name[0]);
  return isDeepStrictEqual({ ...plant }, plantOf(plant.id, content)) ? content : undefined;
}

/**
 * The result of a request: 200, the id taken by another content, 503 as the store is unavailable, a broken connection,
 * none, or what must never come.
 */
export type Outcome = keyof typeof NONE;
export const NONE = { acknowledged: 0, taken: 0, refused: 0, unknown: 0, unreachable: 0, wrong: 0 };

/** Sends a plant. `took` is in milliseconds. */
export async function send(client: Client, plant: StoredPlant) {
  const sent = performance.now();
  const hangs = sleep(HANGING_MS, ['wrong', 'no response'] as const, { ref: false });
  const [kind, text] = await Promise.race([exchange(client, plant), hangs]);
  return { kind, text, took: performance.now() - sent };
}

async function exchange(
  client: Client,
  { id, name, tag }: StoredPlant,
): Promise<readonly [Outcome, string]> {
  const content = { name, ...(tag !== null && { tag }) };
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
