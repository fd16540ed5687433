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

/**
 * A database's name without what belongs to a password with an unencoded slash, question mark or number sign: the driver
 * would take a part of it for the database.
 */
const POSTGRES_URL = /^postgres(ql)?:\/\/[^/?#]*\/[^/?#@]+(\?[^#]*)?$/;

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

/** Reads a DATABASE_URL, for the driver: undefined if it names neither a SQLite file nor a PostgreSQL database. */
export function parseDatabaseUrl(text: string): string | undefined {
  if (SQLITE_URL.test(text)) return text;
  if (!POSTGRES_URL.test(text) || !isDecodable(text)) return undefined;
  // With this parameter the modes mean what they do elsewhere.
  if (listParameters(text).includes('uselibpqcompat')) return text;
  return text.replace(ALIASES_OF_VERIFY_FULL, '$1verify-full');
}

/** Whether each `%` is that of a percent-encoded character. */
function isDecodable(text: string): boolean {
  try {
    return decodeURI(text) !== '';
  } catch {
    return false;
  }
}

/** Lists the parameters of a valid DATABASE_URL. */
export function listParameters(url: string): string[] {
  return findSqliteFile(url) === undefined
    ? [...new URLSearchParams(url.split('?')[1]).keys()]
    : [];
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
  const file = findSqliteFile(url);
  if (file !== undefined) return `SQLite ${resolve(file)}`;
  try {
    const { host, port, database } = parse(url);
    const address = host || (process.env.PGHOST ?? 'localhost');
    return `PostgreSQL ${address}${port ? `:${port}` : ''}, database ${database}`;
  } catch {
    // A file that a parameter names cannot be read. The driver says so.
    return 'PostgreSQL';
  }
}

/** Shows a valid DATABASE_URL without its password. */
export function maskPassword(text: string): string {
  if (findSqliteFile(text) !== undefined) return text;
  return text
    .replace(/(?<=\/\/[^:/?#]*:)[^/?#]*(?=@)/, MASK)
    .replace(/(?<=[?&])([^=&]*)=[^&]*/g, (parameter, name: string) =>
      isPassword(decodeURIComponent(name)) ? `${name}=${MASK}` : parameter,
    );
}

/** Whether the name of a parameter says that its value is a password. */
export function isPassword(name: string): boolean {
  return /password/i.test(name);
}
