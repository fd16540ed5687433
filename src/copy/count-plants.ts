import type { DataSource } from 'typeorm';
import { HIGHEST, LOWEST } from './read-plants.js';

/** Ids that one look counts: in less than a second, so that no look takes too long. */
const BLOCK = 100_000;

interface Block {
  /** How many ids; PostgreSQL's driver has text for it. */
  readonly count: number | string;
  /** The last id, null where there is none. */
  readonly last: string | null;
}

/** How many plants a store holds. */
export async function countPlants(store: DataSource): Promise<number> {
  let plants = 0;
  let next = LOWEST;
  while (next <= HIGHEST) {
    const [block] = await store.sql<Block[]>`
      SELECT COUNT(*) AS count, CAST(MAX(id) AS TEXT) AS last FROM (
        SELECT id FROM plants WHERE id >= CAST(${next.toString()} AS BIGINT)
        ORDER BY id LIMIT ${BLOCK}
      ) AS block`;
    if (block?.last == null) break;
    plants += Number(block.count);
    next = BigInt(block.last) + 1n;
  }
  return plants;
}
