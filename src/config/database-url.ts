import { resolve } from 'node:path';
import { parse } from 'pg-connection-string';

/** An engine by its name in traces (OpenTelemetry's `db.system.name`) and metrics. */
export type DatabaseSystem = 'sqlite' | 'postgresql';

/**
 * `sqlite:` and a path. SQLite's driver would trim the path, and open another file than the one named.
 * `sqlite://data/x` would be `/data/x`.
 */
const SQLITE_URL = /^sqlite:(?!:memory:|\/\/[^/])\S(.*\S)?$/;
const SQLITE_SCHEME = 'sqlite:';

const MASK = '***';

/** Whether a text names a SQLite file or a PostgreSQL database. The driver needs `%25` for a `%`. */
export function isDatabaseUrl(text: string): boolean {
  try {
    return SQLITE_URL.test(text) || /^postgres(ql)?:\/\/[^/]*\/[^/?]/.test(decodeURI(text));
  } catch {
    return false;
  }
}

/** Selects the engine that a valid DATABASE_URL names by its scheme. */
export function getDatabaseSystem(url: string): DatabaseSystem {
  return url.startsWith(SQLITE_SCHEME) ? 'sqlite' : 'postgresql';
}

/** Finds the path of the SQLite file that a DATABASE_URL names; undefined if it names a server. */
export function findSqliteFile(url: string): string | undefined {
  return url.startsWith(SQLITE_SCHEME) ? url.slice(SQLITE_SCHEME.length) : undefined;
}

/** Makes the DATABASE_URL of a SQLite file. */
export function toSqliteUrl(path: string): string {
  return SQLITE_SCHEME + resolve(path);
}

/**
 * Says where a database is: the absolute path of its file, or host and database; never a user or a password. For
 * `postgres://user:1/2@host/plants` that is `PostgreSQL` alone: the driver takes a part of this password for the
 * database.
 */
export function describeDatabase(url: string): string {
  const file = findSqliteFile(url);
  if (file !== undefined) return `SQLite ${resolve(file)}`;
  try {
    const { host, port, database } = parse(url);
    if (!database || database.includes('@')) return 'PostgreSQL';
    const address = host || (process.env.PGHOST ?? 'localhost');
    return `PostgreSQL ${address}${port ? `:${port}` : ''}, database ${database}`;
  } catch {
    return 'PostgreSQL';
  }
}

/**
 * Masks a secret: shows a DATABASE_URL without its password, and nothing of anything else. A list of headers is never
 * taken for a URL, as a header's name has no colon.
 */
export function maskSecret(text: string): string {
  if (findSqliteFile(text) !== undefined) return text;
  const url = URL.parse(text);
  if (!url || !isDatabaseUrl(text) || !/^\/[^@]+$/.test(url.pathname)) return MASK;
  if (url.password) url.password = MASK;
  for (const name of url.searchParams.keys()) {
    if (/password/i.test(name)) url.searchParams.set(name, MASK);
  }
  return url.href;
}
