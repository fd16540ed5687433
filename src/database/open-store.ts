import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { DataSource, type DataSourceOptions } from 'typeorm';
import type { Config } from '../config/config.js';
import { engineOf } from './engine-of.js';
import { isMigrated } from './is-migrated.js';
import { describeError } from '../errors/describe.js';

/** The longest wait between two tries to reach the store, in milliseconds. */
const LONGEST_WAIT = 5_000;

/** The store cannot be used; the message says why, for the operator. */
export class StoreUnusableError extends Error {}

/**
 * Opens the store that the configuration names, its schema up to date.
 *
 * @throws StoreUnusableError
 */
export async function openStore(config: Config): Promise<DataSource> {
  try {
    return await open(config);
  } catch (error) {
    throw unusable(error);
  }
}

/**
 * Brings the schema of the store up to date.
 *
 * @returns the names of the migrations that were run, in their order
 * @throws StoreUnusableError
 */
export async function migrateStore(config: Config): Promise<string[]> {
  try {
    return await engineOf(config.databaseUrl).migrate(config);
  } catch (error) {
    throw unusable(error);
  }
}

/**
 * Opens the store as {@link openStore} does, but for the service: claims it until it is closed, makes
 * durable what an earlier process has left, and waits for one that is away.
 *
 * @throws StoreUnusableError
 */
export async function awaitStore(config: Config): Promise<DataSource> {
  const logger = new Logger('Store');
  const engine = engineOf(config.databaseUrl);
  for (let wait = 500; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    try {
      return await openForService(config);
    } catch (error) {
      if (!engine.isAwayAtStart(error)) throw unusable(error);
      const seconds = (wait / 1_000).toLocaleString('en');
      logger.warn(`the store is unavailable (${describeError(error)}), next try in ${seconds} s`);
      await sleep(wait);
    }
  }
}

/** A store that is claimed until it is closed. */
class ClaimedStore extends DataSource {
  constructor(
    options: DataSourceOptions,
    private readonly release: () => void,
  ) {
    super(options);
  }

  override async destroy(): Promise<void> {
    await super.destroy();
    this.release();
  }
}

/** Claims first: a store that another service runs on is not even migrated. */
async function openForService(config: Config): Promise<DataSource> {
  const engine = engineOf(config.databaseUrl);
  const release = engine.claim(config);
  const store = new ClaimedStore(engine.connect(config), release);
  try {
    await open(config, store);
    await engine.recover(store);
    return store;
  } catch (error) {
    if (store.isInitialized) await store.destroy();
    release();
    throw error;
  }
}

async function open(
  config: Config,
  store = new DataSource(engineOf(config.databaseUrl).connect(config)),
): Promise<DataSource> {
  const engine = engineOf(config.databaseUrl);
  if (config.migrate) await engine.migrate(config);
  await store.initialize();
  try {
    await engine.demandDurability(store);
    if (!config.migrate && !(await isMigrated(store))) {
      throw new Error('its schema is not up to date: run `plant-store migrate`, or set MIGRATE=on');
    }
    return store;
  } catch (error) {
    await store.destroy();
    throw error;
  }
}

function unusable(error: unknown): StoreUnusableError {
  const message = `DATABASE_URL: the store cannot be opened: ${describeError(error)}`;
  return new StoreUnusableError(message, { cause: error });
}
