import { userInfo } from 'node:os';
import { Logger } from '@nestjs/common';
import { defaults, type Pool } from 'pg';
import { DataSource, MigrationExecutor, type DataSourceOptions } from 'typeorm';
import type { Engine, StoreConfig } from './engine.js';
import { statementPatience } from './patience.js';
import { ImpatientClient } from './impatient-client.js';
import { weaknessOf } from './postgres-statements.js';
import { PostgresWriter } from './postgres-writer.js';
import { SCHEMA } from './schema.js';
import { isStoreAway } from './store-away.js';

/** Connections of a process: its groups under way, and room for look-ups of tokens. */
const CONNECTIONS = 8;

/** Names the advisory lock under which migrations run: "plant" in ASCII. */
const MIGRATION_LOCK = 0x70_6c_61_6e_74;

/**
 * A change of a table that waits for its lock, behind a dump say, makes every plant wait behind it. It
 * gives up before their requests do, and nothing is changed.
 */
const LOCK_TIMEOUT = "SET LOCAL lock_timeout = '1s'";

/** What {@link demandDurability} looks at. */
const SETTINGS = `
  SELECT current_setting('synchronous_commit') AS commit,
    current_setting('client_min_messages') AS messages,
    current_setting('server_encoding') AS encoding`;

/** A server that refuses our name, our password or our database will do so later too. */
const REFUSED = /^(28|3D)/;

/** PostgreSQL, on one server or on many: nothing here that a connection pooler or Citus lacks. */
export const postgres: Engine = {
  system: 'postgresql',
  connect: (config) => connect(config, statementPatience(config)),
  // A copy writes nothing to what it reads.
  connectToRead: (config) => connect(config, statementPatience(config)),
  placeOf: (url) => url.replace(/^postgres(ql)?:\/\/([^/]*@)?/, ''),
  migrate,
  demandDurability,
  // Any number of services share it.
  claim: () => () => undefined,
  // The server's own recovery does it, and FIND waits for stable storage.
  recover: () => Promise.resolve(),
  isAwayAtStart: (error) =>
    isStoreAway(error) && !REFUSED.test(String((error as { code?: unknown }).code)),
  openWriter: (store) => new PostgresWriter((store.driver as unknown as { master: Pool }).master),
};

/** @param patience milliseconds that a statement may take; for ever if left out */
function connect(config: StoreConfig, patience?: number) {
  defaults.user ??= systemUser();
  return {
    ...SCHEMA,
    type: 'postgres',
    url: config.databaseUrl,
    applicationName: 'plant-store',
    poolSize: CONNECTIONS,
    connectTimeoutMS: statementPatience(config),
    installExtensions: false,
    // An idle connection broke: the pool has dropped it already, and the next one may hold.
    poolErrorHandler: (error: Error) => new Logger('Store').debug(error.message),
    extra: { Client: ImpatientClient, query_timeout: patience, keepAlive: true },
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
    return await store.transaction(async ({ queryRunner }) => {
      await queryRunner?.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
      await queryRunner?.query(LOCK_TIMEOUT);
      const executor = new MigrationExecutor(store, queryRunner);
      return (await executor.executePendingMigrations()).map(({ name }) => name);
    });
  } finally {
    await store.destroy();
  }
}

/**
 * A commit must wait for stable storage (postgresql.org/docs/current/runtime-config-wal.html), must
 * warn where it stops to wait for the standby, and the database must have room for every character.
 */
async function demandDurability(store: DataSource): Promise<void> {
  const [row] = await store.query<Record<'commit' | 'messages' | 'encoding', string>[]>(SETTINGS);
  const { commit, messages, encoding } = row ?? {};
  const weakness = weaknessOf(commit);
  if (weakness !== undefined) throw new Error(weakness);
  if (messages === 'error' || messages === 'fatal' || messages === 'panic') {
    throw new Error(`client_min_messages is ${messages}, which hides that a plant could be lost`);
  }
  if (encoding !== 'UTF8') throw new Error(`its encoding is ${encoding}, not UTF8`);
}
