import { inspect } from 'node:util';
import { describeDenied } from '../config/config.js';
import { ConfigError } from '../config/environment.js';
import { StoreUnavailableException } from './error-codes.js';
import { escapeControls } from './redact.js';

/** Matches what Node.js advises if a certificate is not trusted, which is for somebody who starts Node.js. */
const NODE_ADVICE = /(?<=; )if the root CA is installed locally, [^;]*--use-system-ca/;
const TRUST_ADVICE =
  'to trust it, set NODE_EXTRA_CA_CERTS in the environment, or for PostgreSQL sslrootcert, to the file of its authority';

/** Matches PostgreSQL's error if a session names no user. */
const NO_USER = /(?<=no PostgreSQL user name specified) in startup packet/;
const USER_ADVICE = ': set PGUSER, or DATABASE_URL to postgres://USER@HOST/DATABASE';

/**
 * Matches the codes that mean damage to what is stored: our own, those of SQLite (sqlite.org/rescode.html), also where a disk
 * returns too few bytes, and those of PostgreSQL (data_corrupted, index_corrupted, io_error).
 */
const DAMAGE_CODES =
  /^(DAMAGE|SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|DATA|CORRUPTFS))\w*|XX00[12]|58030)$/;
const DAMAGE_ADVICE =
  '; the store is damaged: stop the service, and follow "A damaged store" in docs/operating.md';

/** PostgreSQL's insufficient_privilege. Only with this message is it a right that can be granted. */
const NO_RIGHT = '42501';
const GRANTABLE = /^permission denied for /;
const NO_RIGHT_ADVICE = ': grant it (docs/operating.md#roles)';

const FULL_ADVICE =
  '; make room on its disk, but remove nothing of the store (docs/operating.md#the-disk-is-full)';
/** By the code: SQLite's and PostgreSQL's disk is full (disk_full), and PostgreSQL refuses the login (invalid_password). */
const ADVICE: Readonly<Record<string, string>> = {
  SQLITE_FULL: FULL_ADVICE,
  '53100': FULL_ADVICE,
  '28P01': ': check the password in DATABASE_URL, or in the file that DATABASE_URL_FILE names',
};

/**
 * Matches the code and message of an error that may quote a value of a row, where an operator's column or index computes with
 * it: PostgreSQL's class 22, data_exception, and 42601 of a text search, SQLite's JSON path, also as TypeORM rewords it. What a
 * trigger itself raises is not known here. PostgreSQL's class 23 names constraints and columns alone.
 */
const QUOTING =
  /^(22... (?!invalid value for parameter )|42601 (?!syntax error)|\w+ (\w+: )?bad JSON path)/;
/** Matches what stands before the value, in any language of the server. */
const BEFORE_VALUE = /^[\p{L}\s]*/u;

/** The code of an error of Node.js or of a database; 'undefined' if it has none. */
export function readCode(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

/** The message of an error without the plant that it may quote. */
function readMessage(error: Error): string {
  const { message } = error;
  const code = readCode(error);
  const [before] = QUOTING.test(`${code} ${message}`) ? (BEFORE_VALUE.exec(message) ?? []) : [];
  return before === undefined ? message : `${before.trim()} (${code})`;
}

/** The message of an error, in one line, with what to do if the store is damaged or a right is missing. */
export function describeError(error: unknown): string {
  // A host with several addresses has an error for each.
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map(describeError).join('; ');
  // `using` throws it if the work failed, and then closing failed too.
  if (error instanceof SuppressedError)
    return `${describeError(error.suppressed)}; ${describeError(error.error)}`;
  if (error instanceof StoreUnavailableException) return error.reason;
  // TypeORM rewords the driver's error. To import its class would load all of TypeORM.
  if (Error.isError(error) && 'driverError' in error) return describeError(error.driverError);
  // fetch() gives its reason as the cause.
  if (error instanceof TypeError && error.cause !== undefined) return describeError(error.cause);
  const message = (Error.isError(error) ? readMessage(error) : String(error))
    .replace(/(?<!\s)\s*\n\s*/g, ' ')
    .replace(NODE_ADVICE, TRUST_ADVICE)
    .replace(NO_USER, USER_ADVICE);
  const line = escapeControls(message);
  const { code = '' } = Object(error) as NodeJS.ErrnoException;
  if (code === NO_RIGHT && GRANTABLE.test(line)) return line + NO_RIGHT_ADVICE;
  return line + (DAMAGE_CODES.test(code) ? DAMAGE_ADVICE : (ADVICE[code] ?? describeDenied(code)));
}

/** Whether an error of ours or of a driver means damage to what is stored. */
export function isDamage(error: unknown): boolean {
  const { driverError = error } = Object(error) as { readonly driverError?: unknown };
  return DAMAGE_CODES.test(readCode(driverError));
}

/** The message of an error in a backup, which is not the store: it does not say what to do. */
export function describeReason(error: unknown): string {
  return describeError(error).replaceAll(DAMAGE_ADVICE, '');
}

export class OutputError extends Error {}

/** Writes to a file, or makes it. @throws OutputError that names it: Node names another path, or none */
export function withFileName<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    throw new OutputError(`${file}: ${describeError(cause)}`, { cause });
  }
}

/** The exit code of a failed start or command, of sysexits.h: EX_CONFIG, EX_IOERR for output and a failed sync; else 1. */
export function toExitCode(error: unknown): number {
  if (error instanceof SuppressedError) return toExitCode(error.suppressed);
  const { code, cause } = Object(error) as NodeJS.ErrnoException;
  const { code: reason } = Object(cause) as NodeJS.ErrnoException;
  if (error instanceof OutputError || /_FSYNC$/.test(code ?? reason ?? '')) return 74;
  return error instanceof ConfigError ? 78 : 1;
}

/** The stack of an error and of its causes. util.inspect() would show the plants of a query. */
export function formatStack(error: unknown): string {
  if (!Error.isError(error)) return typeof error === 'string' ? error : inspect(error);
  const stack = (error.stack ?? error.message).replace(error.message, () => readMessage(error));
  return error.cause === undefined ? stack : `${stack}\ncaused by ${formatStack(error.cause)}`;
}

/** Why a start or a command failed: one line, or one for each problem of the configuration. Never a stack or a secret. */
export function toOperatorMessage(error: unknown): string {
  if (!(error instanceof ConfigError)) return describeError(error);
  return error.message.replace(/^/gm, 'Invalid configuration: ');
}
