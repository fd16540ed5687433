import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { describeError } from '../errors/describe.js';
import { engineOf, isMigrated } from '../database/open-store.js';
import { Token } from '../auth/token.entity.js';
import { Plant } from '../plants/plant.entity.js';
import { CopyError } from './conflicts.js';

/**
 * Opens a store to read from. Nothing is changed there: it is neither made nor migrated.
 *
 * @throws CopyError where it cannot be used
 */
export async function openSource(config: Config): Promise<DataSource> {
  let source: DataSource | undefined;
  try {
    source = new DataSource({
      ...engineOf(config.databaseUrl).connectToRead(config),
      entities: [Plant, Token],
    });
    await source.initialize();
    if (await isMigrated(source)) return source;
    throw new Error(
      'it is no plant store whose schema is up to date: run `plant-store migrate` on it',
    );
  } catch (error) {
    if (source?.isInitialized) await source.destroy();
    const reason = `--from: the store cannot be opened: ${describeError(error)}`;
    throw new CopyError(reason, { cause: error });
  }
}
