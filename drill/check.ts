import { countPlants } from '../bench/store.js';
import { findPlants } from './store.js';
import type { Ledger } from './ledger.js';
import { plantOf, type Plant } from './plants.js';

/** DATABASE_TIMEOUT, and what a busy machine may add, in milliseconds. */
const LONGEST = 5_000 + 500;

/**
 * Looks every plant up that was told 200, with all it consists of; and whether there are others.
 *
 * @param store its address
 *
 * @returns what is wrong
 */
export async function check({ acknowledged, open }: Ledger, store: string): Promise<string[]> {
  const wrong: string[] = [];
  const stored = await findPlants(store, [...acknowledged.keys()]);
  for (const [id, { scenario }] of acknowledged) {
    if (isSame(stored.get(id), plantOf(id))) continue;
    scenario.lost += 1;
    wrong.push(`${scenario.name}: plant ${id} is lost`);
  }
  for (const { name, longest } of new Set(
    [...acknowledged.values()].map(({ scenario }) => scenario),
  )) {
    if (longest > LONGEST) wrong.push(`${name}: a request took ${Math.round(longest)} ms`);
  }
  const others = (await countPlants(store)) - stored.size;
  // What the last clients were not told may be there as well.
  if (others > open.size) wrong.push(`${others} plants are stored that nobody sent`);
  return wrong;
}

function isSame(found: Plant | undefined, { name, tag }: Plant): boolean {
  return found?.name === name && found.tag === tag;
}
