import { resolve } from 'node:path';

/** An engine by its name in traces (OpenTelemetry's `db.system.name`) and metrics. */
export type DatabaseSystem = 'sqlite' | 'postgresql';

/**
 * `sqlite:` and a path. SQLite's driver would trim the path, and open another file than the one named.
 * `sqlite://data/x` would be `/data/x`.
 */
const SQLITE_URL = /^sqlite:(?!:memory:|\/\/[^/])\S(.*\S)?$/;
const SQLITE_SCHEME = 'sqlite:';

/** What is shown of a secret. */
export const MASK = '***';

/** The parameters of an address that the driver `pg` reads. It ignores others, such as a misspelt `sslmode`. */
export const POSTGRES_PARAMETERS = [
  ...['host', 'port', 'user', 'password', 'options', 'application_name', 'client_encoding'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation', 'ssl', 'uselibpqcompat'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'query_timeout'],
  'fallback_application_name',
];
/** Modes that the driver takes for `verify-full`, which it warns of: in PostgreSQL's own clients they check less. */
const ALIASES_OF_VERIFY_FULL = /([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/;

/**
 * Reads a DATABASE_URL, for the driver: undefined if it names neither a SQLite file nor a PostgreSQL database. The
 * driver needs `%25` for a `%`. Of a password with a slash or a question mark it would take a part for the database.
 */
export function parseDatabaseUrl(text: string): string | undefined {
  if (SQLITE_URL.test(text)) return text;
  const url = parsePostgresUrl(text);
  if (!url || !/^\/[^/@][^@]*$/.test(url.pathname)) return undefined;
  // With this parameter the modes mean what they do elsewhere.
  if (url.searchParams.has('uselibpqcompat')) return text;
  return text.replace(ALIASES_OF_VERIFY_FULL, '$1verify-full');
}

function parsePostgresUrl(text: string): URL | undefined {
  try {
    // The host may be missing, as a parameter or the environment can name it.
    const url = new URL(decodeURI(text) && text.replace('@/', '@localhost/'));
    return /^postgres(ql)?:$/.test(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}

/** Lists the parameters of a valid DATABASE_URL. */
export function listParameters(url: string): string[] {
  return [...(parsePostgresUrl(url)?.searchParams.keys() ?? [])];
}

/** Selects the engine that a valid DATABASE_URL names by its scheme. */
export function getDatabaseSystem(url: string): DatabaseSystem {
  return url.startsWith(SQLITE_SCHEME) ? 'sqlite' : 'postgresql';
}

/** Finds the path of the SQLite file that a DATABASE_URL names; undefined if it names a server. */
export function findSqliteFile(url: string): string | undefined {
  return url.startsWith(SQLITE_SCHEME) ? url.slice(SQLITE_SCHEME.length) : undefined;
}

/** Says where a database is: the absolute path of its file, or host and database; never a user or a password. */
export function describeDatabase(url: string): string {
  const address = parsePostgresUrl(url);
  if (!address) return `SQLite ${resolve(findSqliteFile(url) ?? '')}`;
  const { hostname, port, pathname, searchParams } = address;
  const named = searchParams.get('host') || decodeURIComponent(hostname);
  const host = named || (process.env.PGHOST ?? 'localhost');
  const database = decodeURIComponent(pathname.slice(1));
  return `PostgreSQL ${host}${port && `:${port}`}, database ${database}`;
}

/** Shows a valid DATABASE_URL without its password. */
export function maskPassword(text: string): string {
  const url = parsePostgresUrl(text);
  if (!url) return text;
  if (url.password) url.password = MASK;
  for (const name of url.searchParams.keys()) {
    if (/password/i.test(name)) url.searchParams.set(name, MASK);
  }
  return url.href;
}
