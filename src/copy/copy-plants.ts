import type { DataSource } from 'typeorm';
import type { Plant } from '../plants/plant.entity.js';
import { Conflicts } from './conflicts.js';
import { Creators } from './creators.js';
import { readPlants, readSame } from './read-plants.js';
import type { Stores } from './stores.js';

/** Is told of every number of plants that is done. */
export type Advance = (plants: number) => void;

const WHAT = 'the target holds other plants under ids of the source';

/** @throws CopyError where the target has a plant of the source with another name or tag */
export async function refuseConflicts(stores: Stores, advance: Advance): Promise<void> {
  const conflicts = new Conflicts();
  for await (const page of readPlants(stores.source)) {
    const { different } = await compare(page, stores.target);
    for (const id of different) conflicts.add(id);
    advance(page.length);
  }
  conflicts.demandNone(WHAT, 'nothing was copied');
}

/**
 * Stores in the target what it lacks.
 *
 * @throws CopyError where something else took an id meanwhile; the target's error
 */
export async function copyPlants(stores: Stores, advance: Advance): Promise<void> {
  const creators = new Creators(stores);
  for await (const page of readPlants(stores.source)) {
    await copyPage(await creators.translate(page), stores);
    advance(page.length);
  }
}

async function copyPage(page: readonly Plant[], { target, plants }: Stores): Promise<void> {
  const { lacking, different } = await compare(page, target);
  if (different.length === 0 && lacking.length > 0) {
    const inserted = await plants.insertAbsent(lacking);
    if (inserted.length < lacking.length) {
      different.push(...(await compare(lacking, target)).different);
    }
  }
  const conflicts = new Conflicts();
  for (const id of different) conflicts.add(id);
  conflicts.demandNone(WHAT, 'the copy stopped there');
}

/** Which plants of a page a store lacks, and the ids of those that it holds otherwise. */
async function compare(page: readonly Plant[], store: DataSource) {
  const lacking = new Map(page.map((plant) => [plant.id, plant]));
  const different: string[] = [];
  for await (const there of readSame(store, page)) {
    for (const { id, name, tag } of there) {
      const plant = lacking.get(id);
      if (plant?.name !== name || plant.tag !== tag) different.push(id);
      lacking.delete(id);
    }
  }
  return { lacking: [...lacking.values()], different };
}
