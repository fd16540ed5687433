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
 * An address with or without a database. Its name has no `@`: after an unencoded slash, question mark or number sign in a
 * password, the driver would take the rest of the password for the database.
 */
const POSTGRES_URL = /^postgres(ql)?:\/\/[^/?#]*(\/[^/?#@]+(\?[^#]*)?|\/?)$/;

/** What is shown of a secret. */
export const MASK = '***';

/**
 * The parameters of an address that the driver `pg` reads. It ignores others, such as a misspelt `sslmode`. Not `ssl`,
 * which it takes for no TLS, for TLS, or for nothing that it can use.
 */
const PARAMETERS = [
  ...['host', 'port', 'user', 'password', 'options', 'application_name', 'client_encoding'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation', 'uselibpqcompat'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'query_timeout'],
  'fallback_application_name',
];
const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];
const INVALID_HOST = 'DATABASE_URL must have one host, and a port from 1 to 65535';
/** Modes that the driver takes for `verify-full`, which it warns of: in PostgreSQL's own clients they check less. */
const ALIASES_OF_VERIFY_FULL = /([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/;

/** Reads a DATABASE_URL, for the driver: undefined if it names neither a SQLite file nor a PostgreSQL database. */
export function parseDatabaseUrl(text: string): string | undefined {
  if (SQLITE_URL.test(text)) return text;
  if (!POSTGRES_URL.test(text) || !isDecodable(text)) return undefined;
  // With this parameter the modes mean what they do elsewhere.
  if (readParameters(text).has('uselibpqcompat')) return text;
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

/** Finds what the driver would ignore, misread or refuse in a valid DATABASE_URL: a line for each problem. */
export function findAddressProblems(url: string): string[] {
  if (findSqliteFile(url) !== undefined) return [];
  const parameters = readParameters(url);
  const found = findUnknownParameters(url, [...parameters.keys()]);
  // They may be a part of a password: the rest of the address is misread then.
  if (found.length > 0) return found;
  const mode = parameters.get('sslmode') ?? 'disable';
  if (!SSL_MODES.includes(mode))
    found.push(`DATABASE_URL must have an sslmode of ${SSL_MODES.join(', ')}`);
  try {
    const { port, database } = parse(url);
    if (!database)
      found.push('DATABASE_URL names no database after its host: postgres://host/database');
    if (port && !(Number(port) >= 1 && Number(port) <= 65_535)) found.push(INVALID_HOST);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const files = ['sslrootcert', 'sslcert', 'sslkey'].filter((name) => parameters.has(name));
    const unreadable = `DATABASE_URL must name a file that can be read: ${files.join(', ')} (${code})`;
    if (code === 'ERR_INVALID_URL') found.push(INVALID_HOST);
    else found.push(code ? unreadable : `DATABASE_URL: ${message}`);
  }
  return found;
}

/** Reads the parameters as the driver does: of several ones of a name the last one. */
function readParameters(url: string): ReadonlyMap<string, string> {
  return new Map(new URLSearchParams(url.split('?')[1]));
}

const UNSHOWN = '; in a password, write %26 for &';

/** Finds the parameters that the driver ignores. A name that may be a part of a password is not shown. */
function findUnknownParameters(url: string, names: readonly string[]): string[] {
  // A password has an unencoded & or ? itself.
  const isShown = !names.some(isPassword) && !url.includes('@', url.indexOf('?'));
  return names
    .filter((name) => !PARAMETERS.includes(name))
    .map((name) => `DATABASE_URL has an unknown parameter${isShown ? `: ${name}` : UNSHOWN}`);
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
  const { host, port, database } = parse(url);
  const address = host || (process.env.PGHOST ?? 'localhost');
  return `PostgreSQL ${address}${port ? `:${port}` : ''}, database ${database}`;
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
function isPassword(name: string): boolean {
  return /password/i.test(name);
}
