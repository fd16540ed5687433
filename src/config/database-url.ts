// Reads DATABASE_URL: pg-connection-string ignores or misreads some mistakes.
import { resolve } from 'node:path';
import { parse } from 'pg-connection-string';

/** An engine by its name in traces (OpenTelemetry's `db.system.name`) and metrics. */
export type DatabaseSystem = 'sqlite' | 'postgresql';

const SQLITE_SCHEME = 'sqlite:';
/** SQLite's driver would trim the path. `sqlite://data/x` would be `/data/x`. */
const SQLITE_URL = /^sqlite:(?!:memory:|\/\/[^/])\S(.*\S)?$/;

/** A name with `@` is the rest of a password that has an unencoded slash, question mark or number sign. */
const POSTGRES_URL = /^postgres(ql)?:\/\/[^/?#]*(\/[^/?#@]+(\?[^#]*)?|\/?)$/;
/** A blank makes the driver decode the address twice. */
const BAD_ESCAPE = /\s|%(?![\da-f]{2})/i;

/** What is shown of a secret. */
export const MASK = '***';

/** Parameters that `pg` reads: it ignores others. Not `password`, and not `ssl`, whose value it may misread. */
const ALLOWED_SETTINGS = [
  ...['host', 'port', 'user', 'options', 'application_name', 'fallback_application_name'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation', 'uselibpqcompat'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'query_timeout'],
];
const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];
/** The driver takes these for `verify-full` with a warning: in PostgreSQL's own clients they check less. */
const ALIASES_OF_VERIFY_FULL = /([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/;

/** Reads a DATABASE_URL, for the driver: undefined if it names neither a SQLite file nor a PostgreSQL database. */
export function parseDatabaseUrl(text: string): string | undefined {
  if (SQLITE_URL.test(text)) return text;
  if (!POSTGRES_URL.test(text) || BAD_ESCAPE.test(text)) return undefined;
  // With this parameter the modes mean what they do elsewhere.
  if (readParameters(text).get('uselibpqcompat') === 'true') return text;
  return text.replace(ALIASES_OF_VERIFY_FULL, '$1verify-full');
}

/** Finds what the driver would ignore, misread or refuse in a parsed DATABASE_URL; undefined if nothing. */
export function findAddressProblem(url: string): string | undefined {
  const file = findSqliteFile(url);
  if (file !== undefined) return findPathProblem('DATABASE_URL', file);
  const parameters = readParameters(url);
  const names = [...parameters.keys()];
  const unknown = names.find((name) => name !== 'password' && !ALLOWED_SETTINGS.includes(name));
  if (unknown !== undefined) {
    // It may be a part of a password that has an unencoded & or ?.
    const mayBeSecret = names.some((name) => /password/i.test(name)) || /\?.*@/.test(url);
    const hint = mayBeSecret ? '; in a password, write %26 for &' : `: ${unknown}`;
    return `DATABASE_URL has an unknown parameter${hint}`;
  }
  if (!SSL_MODES.includes(parameters.get('sslmode') ?? 'disable'))
    return `DATABASE_URL must have an sslmode of ${SSL_MODES.join(', ')}`;
  const invalidHost = 'DATABASE_URL must have one host, and a port from 1 to 65535';
  try {
    const { host, port, database } = parse(url);
    // libpq would try each; the driver takes it for one name.
    if (host?.includes(',')) return invalidHost;
    if (!database) return 'DATABASE_URL names no database after its host: postgres://host/database';
    return port && !(Number(port) >= 1 && Number(port) <= 65_535) ? invalidHost : undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // In a file, an unencoded # begins a comment, and the password is cut there.
    const hint = url.includes('@') ? '' : '; in a password, write %23 for #';
    if (code === 'ERR_INVALID_URL') return invalidHost + hint;
    const files = ['sslrootcert', 'sslcert', 'sslkey'].filter((name) => parameters.has(name));
    return code
      ? `DATABASE_URL must name a file that can be read: ${files.join(', ')} (${code})`
      : `DATABASE_URL: ${message}`;
  }
}

/** Refuses a path that is meant for a shell: it would make a folder named `~`. */
export function findPathProblem(variable: string, path: string): string | undefined {
  if (!/^~|\$[a-z_{]/i.test(path)) return undefined;
  return `${variable} must have the whole path, such as /home/plants/x, in place of ~ or $NAME: no shell reads it`;
}

/** Reads the parameters as the driver does: the last one of a name counts. */
function readParameters(url: string): ReadonlyMap<string, string> {
  return new Map(new URLSearchParams(url.split('?')[1]));
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

/** Shows a parsed DATABASE_URL without its password. */
export function maskPassword(text: string): string {
  if (findSqliteFile(text) !== undefined) return text;
  return text
    .replace(/(?<=\/\/[^:/?#]*:)[^/?#]*(?=@)/, MASK)
    .replace(/(?<=[?&])([^=&]*)=[^&]*/g, (parameter, name: string) =>
      ALLOWED_SETTINGS.includes(name) ? parameter : `${name}=${MASK}`,
    );
}
