// Reads DATABASE_URL: pg-connection-string ignores or misreads some mistakes.
import { resolve } from 'node:path';
import { parse } from 'pg-connection-string';
import { MASK, type EnvParser } from './parsers.js';

/** SQLite's driver would trim the path; `sqlite://data/x` would be `/data/x`, and `~` or `$NAME` a folder of that name. */
const SQLITE_URL = /^sqlite:(?!:memory:|\/\/[^/]|~|.*\$[A-Za-z_{])\S(.*\S)?$/;

/** A name with `@` is the rest of a password that has an unencoded slash, question mark or number sign. */
const POSTGRES_URL = /^postgres(ql)?:\/\/([^/?#]*@)?[^/?#@,]*\/[^/?#@]+(\?[^?#]*)?$/;
/** A blank makes the driver decode the address twice. */
const BAD_ESCAPE = /\s|%(?![\da-f]{2})/i;

/**
 * `pg` reads these parameters and ignores others. `password` and `ssl` are left out, as it may misread the value of `ssl`, and
 * `query_timeout`, by which it gives a statement up that the server works on, in a session that nobody counts.
 */
const ALLOWED_SETTINGS = [
  ...['host', 'port', 'user', 'options', 'application_name', 'fallback_application_name'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'],
];
/** The driver's parser reads these files, which may be missing for a moment. */
const CERTIFICATE_FILES = /(?<=[?&])ssl(rootcert|cert|key)=[^&]*/g;
/** The driver takes each for `verify-full`, some with a warning, but an empty one for `disable`. */
const OTHER_SSL_MODES = /(?<=[?&]sslmode)(?!=(disable|no-verify)(&|$))(=[^&]*)?(?=&|$)/g;

export const databaseUrl: EnvParser<string> = {
  rule: 'sqlite: and the path of a file, without ~ or $NAME, or postgres://user:password@host:5432/database with one host (in the password, %25 for %, %2F for /, %3F for ?, %23 for #, %26 for &, %20 for a blank)',
  parse(text) {
    if (SQLITE_URL.test(text)) return text;
    if (!POSTGRES_URL.test(text) || BAD_ESCAPE.test(text)) return undefined;
    return text.replace(OTHER_SSL_MODES, '=verify-full');
  },
  mask: (text) => text.replace(/(?<=\/\/[^:/?#]*:)[^/?#]*(?=@)/, MASK),
  findProblem: findSettingsProblem,
};

/** Finds what the driver would ignore, misread or refuse in a parsed DATABASE_URL; undefined if nothing. */
function findSettingsProblem(url: string): string | undefined {
  if (findSqliteFile(url) !== undefined) return undefined;
  const settings = (url.split('?')[1] ?? '').split('&');
  // Names are compared as they are written: OTHER_SSL_MODES finds no encoded one. An unknown one may be a part of a password.
  if (!settings.every((text) => text === '' || ALLOWED_SETTINGS.includes(text.replace(/=.*/, ''))))
    return `DATABASE_URL must have no parameters but ${ALLOWED_SETTINGS.join(', ')}; in the password, %26 for &`;
  try {
    parse(url);
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return `DATABASE_URL${code === 'ERR_INVALID_URL' ? ` must be ${databaseUrl.rule}` : `: ${message}`}`;
  }
}

/** Selects the engine that a valid DATABASE_URL names by its scheme. */
export function getDatabaseSystem(url: string): 'sqlite' | 'postgresql' {
  return url.startsWith('sqlite:') ? 'sqlite' : 'postgresql';
}

/** Finds the path of the SQLite file that a DATABASE_URL names; undefined if it names a server. */
export function findSqliteFile(url: string): string | undefined {
  return /^sqlite:(.+)$/s.exec(url)?.[1];
}

/** Says where a database is: the absolute path of its file, or host and database; never a user or a password. */
export function describeDatabase(url: string): string {
  const file = findSqliteFile(url);
  if (file !== undefined) return `SQLite ${resolve(file)}`;
  const { host, port, database } = parse(url.replace(CERTIFICATE_FILES, ''));
  const address = host || (process.env.PGHOST ?? 'localhost');
  return `PostgreSQL ${address}${port ? `:${port}` : ''}, database ${database}`;
}
