import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { engineOf } from './engine-of.js';
import { isMigrated } from './is-migrated.js';
import { describeError } from '../describe-error.js';

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

/** Opens the store as {@link openStore} does, but waits for one that is away. */
export async function awaitStore(config: Config): Promise<DataSource> {
  const logger = new Logger('Store');
  const engine = engineOf(config.databaseUrl);
  for (let wait = 500; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    try {
      return await open(config);
    } catch (error) {
      if (!engine.isAwayAtStart(error)) throw unusable(error);
      const seconds = (wait / 1_000).toLocaleString('en');
      logger.warn(`the store is away (${describeError(error)}), next try in ${seconds} s`);
      await sleep(wait);
    }
  }
}

async function open(config: Config): Promise<DataSource> {
  const engine = engineOf(config.databaseUrl);
  if (config.migrate) await engine.migrate(config);
  const store = await new DataSource(engine.connect(config)).initialize();
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
