import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, MigrationExecutor, type DataSourceOptions, type QueryRunner } from 'typeorm';
import type { Config } from '../config/config.js';
import { describeError } from '../errors/describe.js';
import {
  Logger,
  NOT_MIGRATED,
  NoStoreError,
  SCHEMA,
  type Access,
  type Engine,
  type WritePath,
} from './engine.js';
import { postgres } from './postgres.js';
import { sqlite } from './sqlite.js';

/** Milliseconds between two tries to reach the store, at most. */
const MAX_RETRY_MS = 5_000;

/** Classes of entities, for TypeORM. */
export type Entities = DataSourceOptions['entities'];

/** How an error names a store to the operator. */
export interface Subject {
  /** An environment variable or a file, then what that is. */
  readonly name: string;
  /** What to do if no store is there; '' for nothing. */
  readonly advice: string;
}

/** The store of the configuration. */
const STORE: Subject = {
  name: 'DATABASE_URL: the store',
  advice:
    "; run this in the service's folder, or set DATABASE_URL; `npx plant-store migrate` creates a new store",
};

/** Selects the engine that a `DATABASE_URL` names by its scheme. */
export function selectEngine(url: string): Engine {
  if (url.startsWith('sqlite:')) return sqlite;
  if (/^postgres(ql)?:/.test(url)) return postgres;
  throw new Error('DATABASE_URL names no engine');
}

/** The store cannot be used; the message says why, for the operator. */
export class StoreUnusableError extends Error {
  constructor(cause: unknown, { name, advice }: Subject = STORE) {
    const reason = describeError(cause) + (cause instanceof NoStoreError ? advice : '');
    super(`${name} cannot be opened: ${reason}`, { cause });
  }
}

/** A store with the way on which its repositories write; it may be claimed until it is closed. */
export class Store extends DataSource {
  readonly engine: Engine;
  /** Ends the claim; {@link awaitStore} sets it. */
  release: () => void = () => undefined;
  private opened: WritePath | undefined;

  /** @throws NoStoreError */
  constructor(
    private readonly config: Config,
    access: Access,
    entities: Entities = [],
  ) {
    const engine = selectEngine(config.databaseUrl);
    super({ ...engine.connect(config, access), entities });
    this.engine = engine;
  }

  /** Only once the store is open. */
  get writePath(): WritePath {
    return (this.opened ??= this.engine.openWritePath(this, this.config));
  }

  /** The write path first: while it ends the process for a failed sync, this connection must stay open. */
  override async destroy(): Promise<void> {
    await this.opened?.close();
    await super.destroy();
    this.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }
}

/**
 * Opens the store that the configuration names, its schema up to date.
 *
 * @throws StoreUnusableError
 */
export function openStore(
  config: Config,
  entities?: Entities,
  access: Exclude<Access, 'read'> = 'create',
): Promise<Store> {
  return open(config, access, entities, async (store) => {
    await bringUpToDate(store, access === 'create' && config.migrate);
    return store;
  });
}

/**
 * Brings the schema of the store up to date.
 *
 * @returns the names of the migrations that were run, in their order
 * @throws StoreUnusableError
 */
export function migrateStore(config: Config): Promise<string[]> {
  return open(config, 'create', [], async (store) => {
    const ran = await bringUpToDate(store, true);
    await store.destroy();
    return ran;
  });
}

/**
 * Opens the store as {@link openStore} does, but for the service: claims it until it is closed, makes
 * durable what an earlier process has left, and waits for one that is unavailable.
 *
 * @throws StoreUnusableError
 */
export async function awaitStore(config: Config, entities?: Entities): Promise<Store> {
  const logger = new Logger('Store');
  const engine = selectEngine(config.databaseUrl);
  for (let wait = 500; ; wait = Math.min(2 * wait, MAX_RETRY_MS)) {
    const release = claim(engine, config);
    try {
      return await open(config, 'create', entities, async (store) => {
        await bringUpToDate(store, config.migrate);
        await engine.recover(store);
        store.release = release;
        return store;
      });
    } catch (error) {
      release();
      const { cause } = error as StoreUnusableError;
      if (!engine.isUnavailableAtStart(cause)) throw error;
      const seconds = (wait / 1_000).toLocaleString('en');
      logger.warn(`the store is unavailable (${describeError(cause)}), next try in ${seconds} s`);
      await sleep(wait);
    }
  }
}

/** Claims the store before it is opened: a store that another service runs on is not even migrated. */
function claim(engine: Engine, config: Config): () => void {
  try {
    return engine.claim(config);
  } catch (error) {
    throw new StoreUnusableError(error);
  }
}

/**
 * Opens the store, and works with it; closes it if that fails. The one way to open a store.
 *
 * @throws StoreUnusableError
 */
export async function open<Result>(
  config: Config,
  access: Access,
  entities: Entities,
  work: (store: Store) => Promise<Result>,
  subject?: Subject,
): Promise<Result> {
  try {
    const store = await new Store(config, access, entities).initialize();
    return await work(store).catch(async (error: unknown) => {
      await store.destroy();
      throw error;
    });
  } catch (error) {
    throw new StoreUnusableError(error, subject);
  }
}

/**
 * Migrates a store, or demands that it is up to date.
 *
 * @returns the names of the migrations that were run
 */
async function bringUpToDate(store: Store, migrates: boolean): Promise<string[]> {
  const { engine } = store;
  // Before anything is made in a database that cannot be used.
  await engine.assertDurable(store);
  const runner = store.createQueryRunner();
  try {
    if (migrates) return await migrate(runner, engine);
    if ((await compareSchema(runner)) === 'missing') throw new Error(NOT_MIGRATED);
    return [];
  } finally {
    await runner.release();
  }
}

/** Migrates in one transaction. If it fails, the end of the connection rolls it back. */
async function migrate(runner: QueryRunner, { beginMigration }: Engine): Promise<string[]> {
  for (const sql of beginMigration) await runner.query(sql);
  const executor = new MigrationExecutor(runner.dataSource, runner);
  executor.transaction = 'none';
  const ran = await executor.executePendingMigrations();
  await runner.query('COMMIT');
  return ran.map(({ name }) => name);
}

/** Migrations of 1.0.0 that are part of another migration now. Stores of 1.0.0 have rows of them. */
const MERGED_MIGRATIONS = ['AddAuditTrailToPlants1763700000000'];

/** Compares the migrations that were run on a store with those of this version; nothing is written. */
export async function compareSchema(runner: QueryRunner): Promise<'missing' | 'same' | 'newer'> {
  // TypeORM's own check would make the table.
  if (!(await runner.hasTable('migrations'))) return 'missing';
  const rows = (await runner.query('SELECT name FROM migrations')) as { name: string }[];
  const ran = new Set(rows.map(({ name }) => name));
  for (const { name } of SCHEMA.migrations) if (!ran.delete(name)) return 'missing';
  for (const name of MERGED_MIGRATIONS) ran.delete(name);
  return ran.size === 0 ? 'same' : 'newer';
}
