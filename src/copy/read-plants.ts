import { setImmediate } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Plant } from '../plants/plant.entity.js';

/** The ends of int64. */
export const LOWEST = -(2n ** 63n);
export const HIGHEST = 2n ** 63n - 1n;

/** Plants of a page at most; it ends before with the plant that brings it to so many bytes. */
const PAGE = 1_000;
const BYTES = 1_000_000;

/**
 * The plants of a store from one id to another, both included: in the order of their ids, page by
 * page, so that memory does not grow with the store. It is no snapshot: each page is a look of its own.
 */
export async function* readPlants(
  store: DataSource,
  from = LOWEST,
  to = HIGHEST,
): AsyncGenerator<Plant[], void> {
  let next = from;
  while (next <= to) {
    const page = await readPage(store, next, to);
    const last = page.at(-1);
    if (!last) return;
    yield page;
    next = BigInt(last.id) + 1n;
  }
}

/** The plants of a store under the ids of a page, in the order of their ids, again by pages. */
export async function* readSame(
  store: DataSource,
  page: readonly Plant[],
): AsyncGenerator<Plant[], void> {
  const ids = page.map(({ id }) => BigInt(id));
  const wanted = new Set(page.map(({ id }) => id));
  for await (const there of readPlants(store, ids[0], ids.at(-1))) {
    yield there.filter(({ id }) => wanted.has(id));
  }
}

/**
 * Ids and times travel as text, since a double cannot hold them. The page is cut by its lengths first, which
 * both engines know without reading the texts. The upper end stands outside: with both ends inside,
 * PostgreSQL without statistics sorts the whole range for every page.
 */
async function readPage(store: DataSource, from: bigint, to: bigint): Promise<Plant[]> {
  // SQLite answers at once, and the progress bar would never have its turn.
  await setImmediate();
  return store.sql<Plant[]>`
    SELECT CAST(plants.id AS TEXT) AS id, name, tag,
      created_by AS "createdBy", CAST(created_at AS TEXT) AS "createdAt"
    FROM (
      SELECT id, SUM(OCTET_LENGTH(name) + COALESCE(OCTET_LENGTH(tag), 0)) OVER (
        ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ) AS bytes_before
      FROM plants WHERE id >= CAST(${from.toString()} AS BIGINT) ORDER BY id LIMIT ${PAGE}
    ) AS page JOIN plants ON plants.id = page.id
    WHERE page.id <= CAST(${to.toString()} AS BIGINT) AND COALESCE(bytes_before, 0) < ${BYTES}
    ORDER BY page.id`;
}
