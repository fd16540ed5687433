import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, type DataSourceOptions } from 'typeorm';
import type { Config } from '../config/config.js';
import { describeError } from '../errors/describe.js';
import { NOT_MIGRATED, type Engine, type WritePath } from './engine.js';
import { Logger } from './logger.js';
import { postgres } from './postgres.js';
import { sqlite } from './sqlite.js';

/** Milliseconds between two tries to reach the store, at most. */
const MAX_RETRY_MS = 5_000;

/** How the store of the configuration is named to the operator. */
export const STORE_NAME = 'DATABASE_URL: the store';

/** Classes of entities, for TypeORM. */
export type Entities = DataSourceOptions['entities'];

/** The one switch on the engine: what a `DATABASE_URL` names by its scheme. */
export function engineOf(url: string): Engine {
  if (url.startsWith('sqlite:')) return sqlite;
  if (/^postgres(ql)?:/.test(url)) return postgres;
  throw new Error('DATABASE_URL names no engine');
}

/** The store cannot be used; the message says why, for the operator. */
export class StoreUnusableError extends Error {}

/**
 * Opens the store that the configuration names, its schema up to date.
 *
 * @param name what an error calls it
 * @throws StoreUnusableError
 */
export async function openStore(
  config: Config,
  entities?: Entities,
  name = STORE_NAME,
): Promise<Store> {
  try {
    return await open(config, new Store(config, entities));
  } catch (error) {
    throw unusable(error, name);
  }
}

/**
 * Opens a store that is there, its schema up to date, for a command: nothing is created or migrated.
 *
 * @throws StoreUnusableError
 */
export async function openExisting(
  config: Config,
  entities: NonNullable<Entities>,
): Promise<DataSource> {
  try {
    const options = engineOf(config.databaseUrl).connectToExisting(config);
    return await open(config, new DataSource({ ...options, entities }), false);
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
 * durable what an earlier process has left, and waits for one that is unavailable.
 *
 * @throws StoreUnusableError
 */
export async function awaitStore(config: Config, entities?: Entities): Promise<Store> {
  const logger = new Logger('Store');
  const engine = engineOf(config.databaseUrl);
  for (let wait = 500; ; wait = Math.min(2 * wait, MAX_RETRY_MS)) {
    try {
      return await openForService(config, entities);
    } catch (error) {
      if (!engine.isUnavailableAtStart(error)) throw unusable(error);
      const seconds = (wait / 1_000).toLocaleString('en');
      logger.warn(`the store is unavailable (${describeError(error)}), next try in ${seconds} s`);
      await sleep(wait);
    }
  }
}

/** A store with the way on which its repositories write; it may be claimed until it is closed. */
export class Store extends DataSource {
  private opened: WritePath | undefined;

  constructor(
    private readonly config: Config,
    entities: Entities = [],
    private readonly release: () => void = () => undefined,
  ) {
    super({ ...engineOf(config.databaseUrl).connect(config), entities });
  }

  /** Of a store that is open. */
  get writePath(): WritePath {
    return (this.opened ??= engineOf(this.config.databaseUrl).openWritePath(this, this.config));
  }

  /** The write path first: while it ends the process for a failed sync, this connection must stay open. */
  override async destroy(): Promise<void> {
    await this.opened?.close();
    await super.destroy();
    this.release();
  }
}

/** Claims first: a store that another service runs on is not even migrated. */
async function openForService(config: Config, entities?: Entities): Promise<Store> {
  const engine = engineOf(config.databaseUrl);
  const release = engine.claim(config);
  const store = new Store(config, entities, release);
  try {
    await open(config, store);
    await engine.recover(store);
    return store;
  } catch (error) {
    if (store.isInitialized) await store.destroy();
    else release();
    throw error;
  }
}

async function open<Opened extends DataSource>(
  config: Config,
  store: Opened,
  migrate = config.migrate,
): Promise<Opened> {
  const engine = engineOf(config.databaseUrl);
  if (migrate) await engine.migrate(config);
  await store.initialize();
  try {
    await engine.assertDurable(store);
    if (!migrate && !(await isMigrated(store))) {
      throw new Error(NOT_MIGRATED);
    }
    return store;
  } catch (error) {
    await store.destroy();
    throw error;
  }
}

/** Whether all migrations were run on a store; nothing is written there. */
async function isMigrated(store: DataSource): Promise<boolean> {
  const runner = store.createQueryRunner();
  try {
    // Looked for first, since TypeORM's own look makes the table that lists the migrations.
    if (!(await runner.hasTable('migrations'))) return false;
  } finally {
    await runner.release();
  }
  return !(await store.showMigrations());
}

/** What failed at the opening of a store, for the operator. */
export function unusable(error: unknown, name = STORE_NAME): StoreUnusableError {
  const message = `${name} cannot be opened: ${describeError(error)}`;
  return new StoreUnusableError(message, { cause: error });
}
