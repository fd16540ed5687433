import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, type DataSourceOptions, type EntityManager } from 'typeorm';
import { COMMAND } from '../config/config.js';
import type { Config } from '../config/config.js';
import { describeError } from '../errors/operator-message.js';
import { Logger, NoStoreError, type Access, type Engine, type WritePath } from './engine.js';
import { postgres } from './postgres/engine.js';
import { bringUpToDate, MIGRATIONS, OlderSchemaError } from './schema.js';
import { sqlite } from './sqlite/engine.js';

/** Milliseconds between two tries to reach the store, at most. */
const MAX_RETRY_MS = 5_000;

/** What an error calls the store of the configuration, and what to do if it is missing or older. */
const CONFIGURED_STORE = 'DATABASE_URL: the store';
const HOW_TO_CREATE = `; run this in the service's folder, or set DATABASE_URL; \`${COMMAND} migrate\` creates a new store`;
const HOW_TO_MIGRATE = `: run \`${COMMAND} migrate\`, or start the service with MIGRATE=on`;
const HOW_TO_BACK_UP = `; name a file that \`${COMMAND} backup\` has made`;
/** A backup itself must not be migrated: its digests are those of its own columns. */
const HOW_TO_MIGRATE_FILE =
  `: copy it, run \`${COMMAND} migrate\` and \`${COMMAND} backup NEW\` with ` +
  'DATABASE_URL=sqlite:COPY, and use NEW';

/** Classes of entities, for TypeORM. */
type Entities = DataSourceOptions['entities'];

/** Selects the engine that a `DATABASE_URL` names by its scheme. */
export function selectEngine(url: string): Engine {
  if (url.startsWith('sqlite:')) return sqlite;
  if (/^postgres(ql)?:/.test(url)) return postgres;
  throw new Error('DATABASE_URL names no engine');
}

/** The store cannot be used; the message says why, for the operator. */
export class StoreUnusableError extends Error {
  constructor(cause: unknown, name = CONFIGURED_STORE) {
    const isConfigured = name === CONFIGURED_STORE;
    let advice = '';
    if (cause instanceof NoStoreError) advice = isConfigured ? HOW_TO_CREATE : HOW_TO_BACK_UP;
    if (cause instanceof OlderSchemaError) {
      advice = isConfigured ? HOW_TO_MIGRATE : HOW_TO_MIGRATE_FILE;
    }
    super(`${name} cannot be opened: ${describeError(cause)}${advice}`, { cause });
  }
}

/** A store with the way on which its repositories write. */
export class Store extends DataSource {
  readonly engine: Engine;
  private readonly claim: Disposable | undefined;
  private opened: WritePath | undefined;

  /** @throws NoStoreError; Error if another service has claimed the store */
  constructor(
    private readonly config: Config,
    access: Access,
    entities: Entities = [],
  ) {
    const engine = selectEngine(config.databaseUrl);
    super({
      ...engine.connect(config, access),
      entities,
      migrations: MIGRATIONS,
      synchronize: false,
      // TypeORM's default writes a failed migration to stdout. The service or the command reports it.
      logger: 'debug',
    });
    this.engine = engine;
    // Before it is opened: a store that another service runs on is not even migrated.
    if (access === 'serve') this.claim = engine.claim?.(config);
  }

  /** Only once the store is open. */
  get writePath(): WritePath {
    return (this.opened ??= this.engine.openWritePath(this, this.config));
  }

  /** The write path first: while it ends the process for a failed sync, this connection must stay open. */
  override async destroy(): Promise<void> {
    await this.opened?.close();
    if (this.isInitialized) await super.destroy();
    this.claim?.[Symbol.dispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }
}

/** Finds the engine of a repository's store: its statements are chosen by the engine's `system`. */
export function getEngine({ dataSource }: EntityManager): Engine {
  return (dataSource as Store).engine;
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
    await bringUpToDate(store, access !== 'change' && config.migrate);
    if (access === 'serve') await store.engine.recover?.(store);
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
 * Opens the store for the service: claims it until it is closed, makes durable what an earlier process has left, and
 * waits for one that is unavailable.
 *
 * @throws StoreUnusableError
 */
export async function awaitStore(config: Config, entities?: Entities): Promise<Store> {
  const logger = new Logger('Store');
  const engine = selectEngine(config.databaseUrl);
  for (let wait = 500; ; wait = Math.min(2 * wait, MAX_RETRY_MS)) {
    try {
      return await openStore(config, entities, 'serve');
    } catch (error) {
      const { cause } = error as StoreUnusableError;
      if (!engine.isUnavailableAtStart?.(cause)) throw error;
      const seconds = (wait / 1_000).toLocaleString('en');
      logger.warn(`the store is unavailable (${describeError(cause)}), next try in ${seconds} s`);
      await sleep(wait);
    }
  }
}

/**
 * Opens a store, and works with it; closes it if that fails. The one way to open a store.
 *
 * @param name what an error calls the store
 * @throws StoreUnusableError
 */
export async function open<Result>(
  config: Config,
  access: Access,
  entities: Entities,
  work: (store: Store) => Promise<Result>,
  name?: string,
): Promise<Result> {
  let store: Store | undefined;
  try {
    store = new Store(config, access, entities);
    await store.initialize();
    return await work(store);
  } catch (error) {
    // The caller decides by the first error whether to try again.
    await store?.destroy().catch((failure: unknown) => {
      new Logger('Store').error(`the store could not be closed: ${describeError(failure)}`);
    });
    throw new StoreUnusableError(error, name);
  }
}
