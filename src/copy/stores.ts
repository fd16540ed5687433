import type { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { engineOf, openStore, StoreUnusableError } from '../database/open-store.js';
import { Token } from '../auth/token.entity.js';
import { Plant } from '../plants/plant.entity.js';
import { PlantsRepository } from '../plants/plants.repository.js';
import { CopyError } from './conflicts.js';
import { openSource } from './open-source.js';

/** Both sides of a copy. */
export interface Stores {
  readonly source: DataSource;
  readonly target: DataSource;
  /** The target's, to write by. */
  readonly plants: PlantsRepository;
}

/**
 * Opens both stores for some work, and closes them behind it.
 *
 * @throws CopyError where one of them cannot be used
 */
export async function withStores<Result>(
  from: Config,
  to: Config,
  work: (stores: Stores) => Promise<Result>,
): Promise<Result> {
  const source = await openSource(from);
  try {
    const target = await openTarget(to);
    const writePath = engineOf(to.databaseUrl).openWritePath(target, to);
    const { manager } = writePath;
    const plants = new PlantsRepository(Plant, manager, manager.queryRunner);
    try {
      return await work({ source, target, plants });
    } finally {
      await writePath.close();
      await target.destroy();
    }
  } finally {
    await source.destroy();
  }
}

async function openTarget(config: Config): Promise<DataSource> {
  try {
    return await openStore(config, [Plant, Token]);
  } catch (error) {
    if (!(error instanceof StoreUnusableError)) throw error;
    throw new CopyError(error.message.replace('DATABASE_URL', '--to'), { cause: error });
  }
}
