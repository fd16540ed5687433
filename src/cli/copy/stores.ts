import { DataSource } from 'typeorm';
import { ConfigError } from '../../config/variable.js';
import { Token } from '../../auth/token.entity.js';
import type { Config } from '../../config/config.js';
import { readConfig } from '../../config/read-config.js';
import {
  engineOf,
  isMigrated,
  openStore,
  StoreUnusableError,
  type Store,
} from '../../database/open-store.js';
import { describeError } from '../../errors/describe.js';
import { Plant } from '../../plants/plant.entity.js';
import { PlantsRepository } from '../../plants/plants.repository.js';
import { CopyError } from './report.js';

/** Nobody waits for an answer here, as a request does. */
const TIMEOUT = '1m';

const ENTITIES = [Plant, Token];

/** Where a copy comes from and where it goes, each as the service's own configuration would have it. */
export interface CopyConfig {
  readonly from: Config;
  readonly to: Config;
}

/** Both sides of a copy. */
export interface Stores {
  readonly source: DataSource;
  readonly target: DataSource;
  /** The target's, to write by. */
  readonly plants: PlantsRepository;
}

/**
 * Reads the two addresses, which are as DATABASE_URL is.
 *
 * @throws ConfigError whose message names the option at fault, and never repeats an address
 */
export function readCopyConfig(from: string, to: string): CopyConfig {
  const config = { from: readSide('--from', from), to: readSide('--to', to) };
  const [source, target] = [engineOf(from), engineOf(to)];
  if (source === target && source.placeOf(from) === target.placeOf(to)) {
    throw new ConfigError('--from and --to are the same store');
  }
  return config;
}

function readSide(option: string, url: string): Config {
  // To the configuration, an empty variable is one that is not set.
  if (url === '') throw new ConfigError(`${option} is empty`);
  try {
    return readConfig({ DATABASE_URL: url, DATABASE_TIMEOUT: TIMEOUT });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.message.replace('DATABASE_URL', option), { cause: error });
  }
}

/**
 * Opens both stores for some work, and closes them behind it.
 *
 * @throws CopyError where one of them cannot be used
 */
export async function withStores<Result>(
  { from, to }: CopyConfig,
  work: (stores: Stores) => Promise<Result>,
): Promise<Result> {
  const source = await openSource(from);
  try {
    const target = await openTarget(to);
    try {
      return await work({ source, target, plants: PlantsRepository.of(target.writePath) });
    } finally {
      await target.destroy();
    }
  } finally {
    await source.destroy();
  }
}

/** Nothing is changed in the source: it is neither created nor migrated. */
async function openSource(config: Config): Promise<DataSource> {
  let source: DataSource | undefined;
  try {
    source = new DataSource({
      ...engineOf(config.databaseUrl).connectToRead(config),
      entities: ENTITIES,
    });
    await source.initialize();
    if (await isMigrated(source)) return source;
    throw new Error(
      'it is not a plant store with an up-to-date schema: run `plant-store migrate` on it',
    );
  } catch (error) {
    if (source?.isInitialized) await source.destroy();
    const reason = `--from: the store cannot be opened: ${describeError(error)}`;
    throw new CopyError(reason, { cause: error });
  }
}

async function openTarget(config: Config): Promise<Store> {
  try {
    return await openStore(config, ENTITIES);
  } catch (error) {
    if (!(error instanceof StoreUnusableError)) throw error;
    throw new CopyError(error.message.replace('DATABASE_URL', '--to'), { cause: error });
  }
}
