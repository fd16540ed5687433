// Reads DATABASE_URL: pg-connection-string ignores or misreads some mistakes.
import { resolve } from 'node:path';
import { parse } from 'pg-connection-string';
import { MASK, parseWholeNumber, type EnvParser } from './parsers.js';

/** An engine by its name. */
export type DatabaseSystem = 'sqlite' | 'postgresql';

/** SQLite's driver would trim the path. `sqlite://data/x` would be `/data/x`. */
const SQLITE_URL = /^sqlite:(?!:memory:|\/\/[^/])\S(.*\S)?$/;

/** A name with `@` is the rest of a password that has an unencoded slash, question mark or number sign. */
const POSTGRES_URL = /^postgres(ql)?:\/\/[^/?#]*\/[^/?#@]+(\?[^#]*)?$/;
/** A blank makes the driver decode the address twice. */
const BAD_ESCAPE = /\s|%(?![\da-f]{2})/i;

/** Parameters that `pg` reads: it ignores others. Not `password`, and not `ssl`, whose value it may misread. */
const ALLOWED_SETTINGS = [
  ...['host', 'port', 'user', 'options', 'application_name', 'fallback_application_name'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation', 'uselibpqcompat'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'query_timeout'],
];
const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];
/** The driver takes these for `verify-full` with a warning: in PostgreSQL's own clients they check less. */
const ALIASES_OF_VERIFY_FULL = /([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/;

export const databaseUrl: EnvParser<string> = {
  rule: 'sqlite: and the path of a file, or postgres://user:password@host:5432/database with one host (in the password, %25 for %, %2F for /, %3F for ?, %23 for #, %26 for &, %20 for a blank)',
  parse(text) {
    if (SQLITE_URL.test(text)) return text;
    if (!POSTGRES_URL.test(text) || BAD_ESCAPE.test(text)) return undefined;
    // With this parameter the modes mean what they do elsewhere.
    if (readParameters(text).get('uselibpqcompat') === 'true') return text;
    return text.replace(ALIASES_OF_VERIFY_FULL, '$1verify-full');
  },
  mask: maskPassword,
  findProblem: findAddressProblem,
};

/** Finds what the driver would ignore, misread or refuse in a parsed DATABASE_URL; undefined if nothing. */
export function findAddressProblem(url: string): string | undefined {
  const file = findSqliteFile(url);
  if (file !== undefined) return findPathProblem('DATABASE_URL', file);
  const parameters = readParameters(url);
  // The name of another parameter may be a part of a password.
  const isAllowed = (name: string) => name === 'password' || ALLOWED_SETTINGS.includes(name);
  if (![...parameters.keys()].every(isAllowed))
    return `DATABASE_URL must have no parameters but ${ALLOWED_SETTINGS.join(', ')}; in the password, %26 for &`;
  if (!SSL_MODES.includes(parameters.get('sslmode') ?? 'disable'))
    return `DATABASE_URL must have an sslmode of ${SSL_MODES.join(', ')}`;
  const invalid = `DATABASE_URL must be ${databaseUrl.rule}`;
  try {
    const { host, port } = parse(url);
    // libpq would try each of several hosts; the driver takes them for one name.
    const isValid = !host?.includes(',') && (!port || parseWholeNumber(port, 1, 65_535));
    return isValid ? undefined : invalid;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ERR_INVALID_URL' ? invalid : `DATABASE_URL: ${message}`;
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
  return url.startsWith('sqlite:') ? 'sqlite' : 'postgresql';
}

/** Finds the path of the SQLite file that a DATABASE_URL names; undefined if it names a server. */
export function findSqliteFile(url: string): string | undefined {
  return /^sqlite:(.+)$/.exec(url)?.[1];
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
