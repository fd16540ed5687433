import {
  DataSource,
  type DataSourceOptions,
  type EntityManager,
  type QueryRunner,
  type ReplicationMode,
} from 'typeorm';
import type { Config } from '../config/config.js';
import { getDatabaseSystem } from '../config/database-url.js';
import { Logger, mayCreate, type Access, type Engine, type Writer } from './engine.js';
import type { Finding, ProblemEffect } from './finding.js';
import { listNames, migrateOrAssert, MIGRATIONS } from './schema.js';
import { mayBeLocked, StoreProblem, StoreUnusableError } from './store-errors.js';
import { loadEntities, MIGRATIONS_TABLE } from './tables.js';

type Entities = DataSourceOptions['entities'];

/** Loads the engine that a DATABASE_URL names, and its driver; the other one is not loaded. */
export async function loadEngine(url: string): Promise<Engine> {
  if (getDatabaseSystem(url) === 'sqlite')
    return (await import('./sqlite/sqlite-engine.js')).sqlite;
  return (await import('./postgres/postgres-engine.js')).postgres;
}

export class Store extends DataSource {
  private readonly lock: Disposable | undefined;
  private openedWriter: Writer | undefined;
  private readonly separate: ReturnType<NonNullable<Engine['shareConnection']>> | undefined;

  /** @throws SchemaError; Error if another service has locked the store */
  constructor(
    readonly engine: Engine,
    private readonly config: Config,
    private readonly access: Access,
    entities: Entities = [],
  ) {
    super({
      ...engine.connect(config, access),
      entities,
      migrations: MIGRATIONS,
      migrationsTableName: MIGRATIONS_TABLE,
      synchronize: false,
      // TypeORM's default writes a failed migration to stdout. The service or the command reports it.
      logger: 'debug',
    });
    const onFailure = (error: unknown) => this.openedWriter?.awaitExitIfFatal?.(error);
    this.separate = engine.shareConnection?.(this, config, onFailure);
    // Before it is opened: a store that another service runs on is not even migrated.
    if (access === 'serve' || access === 'fill') this.lock = engine.lock?.(this);
  }

  get writer(): Writer {
    return (this.openedWriter ??= this.engine.openWriter(this, this.config));
  }

  override createQueryRunner(mode?: ReplicationMode): QueryRunner {
    const runner = super.createQueryRunner(mode);
    return this.separate?.(runner) ?? runner;
  }

  /**
   * Closes the writer first: while it ends the process for a failed sync, this connection must stay open. @throws Error if a
   * command has written to a file that was replaced meanwhile; the service's writer tells of that itself
   */
  override async destroy(): Promise<void> {
    await this.openedWriter?.close();
    if (this.isInitialized) await super.destroy();
    this.lock?.[Symbol.dispose]();
    if (!mayCreate(this.access) && this.access !== 'read')
      this.engine.assertInPlace?.(this, this.config);
  }

  /**
   * Inspects the store as it is now. Returns the problems that do no harm to this access: a command that only reads is harmed
   * by hidden rows alone. @param ignored problems that the caller expects @throws StoreProblem
   */
  async assertSound(
    ignored: readonly ProblemEffect[] = [],
    manager: EntityManager = this.manager,
  ): Promise<readonly StoreProblem[]> {
    const found = await this.engine.inspect(this, this.access, manager);
    const problems = mergeByRemedy(found).map((finding) => new StoreProblem(finding));
    const isHarmful = ({ finding: { effect } }: StoreProblem) =>
      this.access === 'read' ? effect === 'hidden' : !ignored.includes(effect);
    const harmful = problems.find(isHarmful);
    if (harmful) throw harmful;
    return problems;
  }

  /** Lists what an operator has added that can change or drop a plant. */
  async listWarnings(manager: EntityManager = this.manager): Promise<readonly string[]> {
    const meddlers = await manager.query<{ name: string }[]>(this.engine.listMeddlers);
    return meddlers.map(({ name }) => `${name} can change or drop a plant that gets 200`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }
}

/** Makes one of the findings that the same remedy ends, so that nobody follows it twice. */
function mergeByRemedy(findings: readonly Finding[]): readonly Finding[] {
  const merged = new Map<string, Finding>();
  for (const finding of findings) {
    const key = `${finding.effect}: ${finding.remedy}`;
    const other = merged.get(key);
    merged.set(key, other ? { ...other, what: `${other.what}; ${finding.what}` } : finding);
  }
  return [...merged.values()];
}

/**
 * Opens the store, its schema up to date; for the service also locks, recovers and inspects it.
 * @param entities those that no file of src has @throws StoreUnusableError
 */
export function openStore(
  config: Config,
  entities?: Entities,
  access: Access = 'create',
): Promise<Store> {
  return withStore(config, access, entities, async (store) => {
    const ran = await migrateOrAssert(store, store.engine, config.migrate && mayCreate(access));
    if (access === 'serve') await store.engine.recover?.(store);
    await store.assertSound();
    if (access !== 'serve') return store;
    if (ran.length > 0) new Logger('Store').log(`made or upgraded: ${ran.join(', ')}`);
    for (const warning of await store.listWarnings()) new Logger('Store').warn(warning);
    return store;
  });
}

/** Returns the names of the migrations that were run. @throws StoreUnusableError */
export function migrateStore(config: Config): Promise<string[]> {
  return withStore(config, 'create', [], async (store) => {
    const ran = await migrateOrAssert(store, store.engine, true);
    await store.assertSound();
    await store.destroy();
    return ran;
  });
}

/** Opens a store, inspects it, and works with it; closes it if that fails. @throws StoreUnusableError */
export async function withStore<Result>(
  config: Config,
  access: Access,
  entities: Entities,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const engine = await loadEngine(config.databaseUrl);
  let store: Store | undefined;
  try {
    const all = new Set([...(await loadEntities()), ...Object.values(entities ?? [])]);
    store = new Store(engine, config, access, [...all]);
    await store.initialize();
    // What is missing is told by the migrations.
    await store.assertSound(['missing']);
    return await work(store);
  } catch (error) {
    const sql = store && mayBeLocked(error) ? engine.listLockers?.(store) : undefined;
    const [locker] = store && sql ? await listNames(store, sql).catch(() => []) : [];
    // The caller decides by the first error whether to try again.
    await store?.destroy().catch(() => undefined);
    throw new StoreUnusableError(error, locker);
  }
}
