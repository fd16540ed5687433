import { setImmediate } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Plant } from '../../plants/plant.entity.js';
import { Conflicts, Digest, type Check } from './report.js';
import type { Stores } from './stores.js';
import { Creators } from './tokens.js';

/** The ends of int64. */
const MIN_ID = -(2n ** 63n);
const MAX_ID = 2n ** 63n - 1n;

/** A page ends before its plants are more, and with the plant that brings it to so many bytes. */
const MAX_PAGE_PLANTS = 1_000;
const MAX_PAGE_BYTES = 1_000_000;

/** Ids that one statement counts: in less than a second, so that none takes too long. */
const MAX_COUNTED = 100_000;

/** Is told of every number of plants that is done. */
export type Advance = (plants: number) => void;

const WHAT = 'the target has ids of the source with different content';

/** @throws CopyError where the target has a plant of the source with another name or tag */
export async function refusePlantConflicts(stores: Stores, advance: Advance): Promise<void> {
  const conflicts = new Conflicts();
  for await (const page of readPlants(stores.source)) {
    await addConflicts(conflicts, page, stores.target);
    advance(page.length);
  }
  conflicts.assertNone(WHAT, 'nothing was copied');
}

/**
 * Stores in the target what it lacks.
 *
 * @throws CopyError where something else took an id meanwhile; the target's error
 */
export async function copyPlants(stores: Stores, advance: Advance): Promise<void> {
  const creators = new Creators(stores);
  for await (const page of readPlants(stores.source)) {
    const inserted = new Set(await stores.plants.insertAbsent(await creators.translate(page)));
    const others = page.filter(({ id }) => !inserted.has(id));
    const conflicts = new Conflicts();
    await addConflicts(conflicts, others, stores.target);
    conflicts.assertNone(WHAT, 'the copy stopped there');
    advance(page.length);
  }
}

/** Adds the ids of a page that a store has with different content. */
async function addConflicts(conflicts: Conflicts, page: readonly Plant[], store: DataSource) {
  const plants = new Map(page.map((plant) => [plant.id, plant]));
  for await (const there of readSame(store, page)) {
    for (const { id, name, tag } of there) {
      const plant = plants.get(id);
      if (plant?.name !== name || plant.tag !== tag) conflicts.add(id);
    }
  }
}

/**
 * Reads both sides and digests the plants of the source's ids: their ids, names and tags. A plant that
 * the target had before the copy keeps its creator there: such plants are counted.
 */
export async function checkPlants(stores: Stores, advance: Advance): Promise<Check> {
  const [source, target] = [new Digest(), new Digest()];
  const creators = new Creators(stores);
  let differentOrigin = 0;
  for await (const page of readPlants(stores.source)) {
    source.add(page.map(contentOf));
    const wanted = new Set((await creators.translate(page)).map(originOf));
    for await (const there of readSame(stores.target, page)) {
      target.add(there.map(contentOf));
      differentOrigin += there.filter((plant) => !wanted.has(originOf(plant))).length;
    }
    advance(page.length);
  }
  const more = (await countPlants(stores.target)) - target.count;
  return { source, target, more, differentOrigin };
}

/** Who created which plant, and when. */
function originOf({ id, createdBy, createdAt }: Plant): string {
  return `${id} ${createdAt} ${createdBy}`;
}

function contentOf({ id, name, tag }: Plant): readonly (string | null)[] {
  return [id, name, tag];
}

/**
 * The plants of a store from one id to another, both included: in the order of their ids, page by
 * page, so that memory does not grow with the store. It is no snapshot: each page is a read of its own.
 */
export async function* readPlants(
  store: DataSource,
  from = MIN_ID,
  to = MAX_ID,
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
  const [first, last] = [page[0], page.at(-1)];
  if (!first || !last) return;
  const wanted = new Set(page.map(({ id }) => id));
  for await (const there of readPlants(store, BigInt(first.id), BigInt(last.id))) {
    yield there.filter(({ id }) => wanted.has(id));
  }
}

/** How many plants a store holds. */
export async function countPlants(store: DataSource): Promise<number> {
  let count = 0;
  let next = MIN_ID;
  while (next <= MAX_ID) {
    // PostgreSQL's driver has text for a count.
    const [block] = await store.sql<{ count: number | string; last: string | null }[]>`
      SELECT COUNT(*) AS count, CAST(MAX(id) AS TEXT) AS last FROM (
        SELECT id FROM plants WHERE id >= CAST(${next.toString()} AS BIGINT)
        ORDER BY id LIMIT ${MAX_COUNTED}
      ) AS block`;
    if (block?.last == null) break;
    count += Number(block.count);
    next = BigInt(block.last) + 1n;
  }
  return count;
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
      FROM plants WHERE id >= CAST(${from.toString()} AS BIGINT) ORDER BY id LIMIT ${MAX_PAGE_PLANTS}
    ) AS page JOIN plants ON plants.id = page.id
    WHERE page.id <= CAST(${to.toString()} AS BIGINT) AND COALESCE(bytes_before, 0) < ${MAX_PAGE_BYTES}
    ORDER BY page.id`;
}
