import type { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import type { StoreWriter } from '../database/engine.js';
import { engineOf } from '../database/engine-of.js';
import { openStore, StoreUnusableError } from '../database/open-store.js';
import { CopyError } from './conflicts.js';
import { openSource } from './open-source.js';

/** Both sides of a copy. */
export interface Stores {
  readonly source: DataSource;
  readonly target: DataSource;
  /** The target's. */
  readonly writer: StoreWriter;
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
    const writer = engineOf(to.databaseUrl).openWriter(target, to);
    try {
      return await work({ source, target, writer });
    } finally {
      await writer.close();
      await target.destroy();
    }
  } finally {
    await source.destroy();
  }
}

async function openTarget(config: Config): Promise<DataSource> {
  try {
    return await openStore(config);
  } catch (error) {
    if (!(error instanceof StoreUnusableError)) throw error;
    throw new CopyError(error.message.replace('DATABASE_URL', '--to'), { cause: error });
  }
}
