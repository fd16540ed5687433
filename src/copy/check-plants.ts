import type { Plant } from '../plants/plant.entity.js';
import type { Advance } from './copy-plants.js';
import { countPlants } from './count-plants.js';
import { Creators } from './creators.js';
import { Digest, type Check } from './digest.js';
import { readPlants, readSame } from './read-plants.js';
import type { Stores } from './stores.js';

/**
 * Reads both sides and digests the plants of the source's ids: their ids, names and tags. A plant that
 * the target had before the copy keeps its creator there: such plants are counted.
 */
export async function checkPlants(stores: Stores, advance: Advance): Promise<Check> {
  const source = new Digest();
  const target = new Digest();
  const creators = new Creators(stores);
  let otherwise = 0;
  for await (const page of readPlants(stores.source)) {
    source.add(page.map(fieldsOf));
    const wanted = new Set((await creators.translate(page)).map(trailOf));
    for await (const there of readSame(stores.target, page)) {
      target.add(there.map(fieldsOf));
      for (const plant of there) if (!wanted.has(trailOf(plant))) otherwise += 1;
    }
    advance(page.length);
  }
  return { source, target, further: (await countPlants(stores.target)) - target.count, otherwise };
}

/** Who created which plant, and when. */
function trailOf({ id, createdBy, createdAt }: Plant): string {
  return `${id} ${createdAt} ${createdBy}`;
}

function fieldsOf({ id, name, tag }: Plant): readonly (string | null)[] {
  return [id, name, tag];
}
