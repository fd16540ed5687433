import { userInfo } from 'node:os';
import { defaults } from 'pg';
import { DataSource, MigrationExecutor, type DataSourceOptions, type EntityManager } from 'typeorm';
import { StoreUnavailable } from '../errors/errors.js';
import { SCHEMA, statementTimeoutMs, WritePath, type Engine, type StoreConfig } from './engine.js';
import { Logger } from './logger.js';
import { COMMIT_LEVEL, weaknessOfLevel } from './postgres-commit-level.js';
import { CheckedPool } from './postgres-pool.js';
import { reader } from './postgres-reader.js';
import { makePostgresStatements } from './statements.js';
import { isUnavailable, toStoreError } from './store-errors.js';

/** Connections of a process: its groups in flight, and room for lookups of tokens. */
const CONNECTIONS = 8;

/** Names the advisory lock under which migrations run: "plant" in ASCII. */
const MIGRATION_LOCK = 0x70_6c_61_6e_74;

/**
 * A change of a table that waits for its lock, behind a dump say, makes every plant wait behind it. It
 * gives up before their requests do, and nothing is changed.
 */
const LOCK_TIMEOUT = "SET LOCAL lock_timeout = '1s'";

/** Citus passes that on to its workers; other servers have no use for it. */
const PASS_ON = "SET LOCAL citus.propagate_set_commands = 'local'";

/** What {@link assertDurable} reads. */
const SETTINGS = `
  SELECT ${COMMIT_LEVEL} AS level, current_setting('server_encoding') AS encoding,
    EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('plants') AND relpersistence = 'u') AS unlogged`;

/** A server that refuses our name, our password or our database will do so later too. */
const REFUSED = /^(28|3D)/;

/** Writes over TypeORM's pool, without session state or named statements, so that a pooler may stand between. */
class PostgresWritePath extends WritePath {
  /** See docs/performance.md: the slower a commit, the more there is in it. */
  readonly concurrency = 4;
  readonly makeStatements = makePostgresStatements;

  constructor(readonly manager: EntityManager) {
    super();
  }

  /** A process may exit while it waits for a server. */
  abort(): Promise<void> {
    return Promise.resolve();
  }

  /** TypeORM ends its pool. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** PostgreSQL, on one server or on many: nothing here that a connection pooler or Citus lacks. */
export const postgres: Engine = {
  system: 'postgresql',
  connect: (config) => connect(config, statementTimeoutMs(config)),
  connectToExisting: (config) => connect(config, statementTimeoutMs(config)),
  // For as long as it takes: the transaction writes nothing.
  connectToRead: (config) => connect(config),
  reader,
  fileOf: () => undefined,
  migrate,
  assertDurable,
  // Any number of services share it.
  claim: () => () => undefined,
  // The server's own recovery does it, and a lookup of what is stored waits for stable storage.
  recover: () => Promise.resolve(),
  isUnavailableAtStart,
  openWritePath: (store) => new PostgresWritePath(store.manager),
};

/** @param timeoutMs that a statement may take; forever if left out */
function connect(config: StoreConfig, timeoutMs?: number) {
  defaults.user ??= systemUser();
  return {
    ...SCHEMA,
    type: 'postgres',
    driver: { Pool: CheckedPool },
    url: config.databaseUrl,
    applicationName: 'plant-store',
    poolSize: CONNECTIONS,
    connectTimeoutMS: statementTimeoutMs(config),
    installExtensions: false,
    // An idle connection broke: the pool has dropped it already, and the next one may hold.
    poolErrorHandler: (error: Error) => new Logger('Store').debug(error.message),
    extra: { statementTimeoutMs: timeoutMs, keepAlive: true },
  } satisfies DataSourceOptions;
}

/** The user that PostgreSQL's own clients take where neither the address nor the environment names one. */
function systemUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    // The user of a container may have no name.
    return undefined;
  }
}

/**
 * Under an advisory lock, so that processes that start at once take turns. It is the transaction's,
 * not the session's, and on the connection that migrates: so it works through a pooler, however few its
 * connections are, and ends with the process.
 */
async function migrate(config: StoreConfig): Promise<string[]> {
  const store = await new DataSource(connect(config)).initialize();
  try {
    // Before anything is made in a database that cannot be used.
    await assertDurable(store);
    return await store.transaction(async ({ queryRunner }) => {
      await queryRunner?.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
      await queryRunner?.query(PASS_ON);
      await queryRunner?.query(LOCK_TIMEOUT);
      const executor = new MigrationExecutor(store, queryRunner);
      return (await executor.executePendingMigrations()).map(({ name }) => name);
    });
  } finally {
    await store.destroy();
  }
}

function isUnavailableAtStart(error: unknown): boolean {
  const reason = toStoreError(error);
  if (!(reason instanceof StoreUnavailable)) return false;
  const { cause } = reason;
  // Without a cause it is a warning that a commit did not wait.
  if (cause === undefined) return true;
  return isUnavailable(cause) && !REFUSED.test(String((cause as { code?: unknown }).code));
}

/** A commit must be kept by the server, and the database must have room for every character. */
async function assertDurable(store: DataSource): Promise<void> {
  type Settings = Record<'level' | 'encoding', string> & { readonly unlogged: boolean };
  const [row] = await store.query<Settings[]>(SETTINGS);
  const { level, encoding, unlogged } = row ?? {};
  const weakness = weaknessOfLevel(level ?? '');
  if (weakness !== undefined) throw new Error(weakness);
  if (unlogged) {
    throw new Error('a crash would empty its table: run `ALTER TABLE plants SET LOGGED`');
  }
  if (encoding === 'UTF8') return;
  throw new Error(
    `its encoding is ${encoding}, not UTF8: make one by ` +
      '`createdb --encoding UTF8 --template template0 plants`',
  );
}
