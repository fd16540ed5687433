import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Client } from 'pg';
import { PostgresServer } from '../test/support/postgres-server.js';
import { temporaryFolder, WORK } from './processes.js';

/** A PostgreSQL server for the benchmark alone, on the disk of the checkout. */
export interface Postgres {
  readonly version: string;
  /** `name=value` each; all others are PostgreSQL's defaults. */
  readonly settings: readonly string[];
  /** Its first process. */
  readonly pid: number;
  /** Makes an empty database, and returns its address. */
  create(database: string): Promise<string>;
  stop(): Promise<void>;
}

/** Starts a server. It keeps to the cores that we may use now, so this comes before stepAside(). */
export async function startPostgres(settings: readonly string[] = []): Promise<Postgres> {
  // Where PostgresServer makes its folder: elsewhere may be in memory, where commits cost nothing.
  if (isOpen(WORK)) process.env.TMPDIR = temporaryFolder();
  const server = await PostgresServer.start(settings);
  process.once('exit', () => server.process?.kill('SIGQUIT'));
  const [row] = await query<{ server_version: string }>(server.url(), 'SHOW server_version');
  return {
    version: row?.server_version ?? '',
    settings,
    pid: server.process?.pid ?? NaN,
    create: async (database) => {
      await query(server.url(), `CREATE DATABASE "${database}"`);
      return server.url(database);
    },
    stop: () => server.stop(),
  };
}

/** Whether everyone may go through a folder's parents: as root we run PostgreSQL as another user. */
function isOpen(folder: string): boolean {
  const parent = dirname(folder);
  return parent === folder || ((statSync(parent).mode & 0o001) !== 0 && isOpen(parent));
}

/**
 * Fills a store with plants of random ids, in no order, so that its index is as full as creates leave
 * it; then has it tidied up and on the disk.
 */
export async function fill(url: string, plants: number): Promise<void> {
  await query(
    url,
    `INSERT INTO plants (id, name, tag, created_by, created_at)
    SELECT random(-9223372036854775808, 9223372036854775807), 'Black alder', 'Alnus glutinosa',
      'token:1', 1763700000000
    FROM generate_series(1, ${plants}) ON CONFLICT DO NOTHING`,
  );
  await query(url, 'VACUUM (ANALYZE) plants');
  await query(url, 'CHECKPOINT');
}

/** The number of plants in a database. */
export async function countPlants(url: string): Promise<number> {
  const [row] = await query<{ n: string }>(url, 'SELECT count(*) AS n FROM plants');
  return Number(row?.n);
}

/** The rows of a statement, on a connection of its own. */
export async function query<Row>(url: string, sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql, values)).rows as Row[];
  } finally {
    await client.end();
  }
}
