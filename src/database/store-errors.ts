import { QueryFailedError } from 'typeorm';
import { COMMAND } from '../config/config.js';
import { describeError, readCode } from '../errors/operator-message.js';
import { ApiException, StoreUnavailableException } from '../errors/error-codes.js';

export const TOO_LONG = 'the store took too long';

/** What a database may be that is no store of this version, and what to do. */
const SCHEMA_ERRORS = {
  empty: ['it is empty', `: run \`${COMMAND} migrate\``],
  foreign: [
    'it is not a plant store',
    `: run this in the service's folder, or set DATABASE_URL; only for a new store, run \`${COMMAND} migrate\``,
  ],
  older: [
    'its schema is of an older version',
    `: run \`${COMMAND} migrate\`, or start the service with MIGRATE=on`,
  ],
  newer: ['its schema is of a newer version: use that version of plant-store', ''],
} as const;

export type SchemaErrorKind = keyof typeof SCHEMA_ERRORS;

/** A database cannot be used as it is. */
export class SchemaError extends Error {
  constructor(
    readonly kind: SchemaErrorKind,
    message: string = SCHEMA_ERRORS[kind][0],
  ) {
    super(message);
  }
}

/** The store cannot be used. The message says why, for the operator. */
export class StoreUnusableError extends Error {
  constructor(cause: unknown) {
    const advice = cause instanceof SchemaError ? SCHEMA_ERRORS[cause.kind][1] : '';
    super(`DATABASE_URL: the store cannot be opened: ${describeError(cause)}${advice}`, { cause });
    // TypeOrmModule would log it at each try. That of the cause says where it failed.
    delete this.stack;
  }
}

/**
 * What a problem of the store does: rows may be `hidden` from a reader; something is `missing` that a migration makes; the
 * server is `read-only` for now; or it is `unsafe` to write, as plants could be lost, changed or refused.
 */
export type ProblemEffect = 'hidden' | 'missing' | 'read-only' | 'unsafe';

/** A problem as plain data, which a thread can send: what is not so, and the remedy with its commands in backticks. */
export interface Finding {
  readonly effect: ProblemEffect;
  readonly what: string;
  readonly remedy: string;
}

/** What an inspection of the store has found, for the operator. */
export class StoreProblem extends StoreUnavailableException {
  constructor(readonly finding: Finding) {
    super(`${finding.what}: ${finding.remedy}`);
  }
}

/** Plants are neither inserted nor found, though the database reports no error: a problem of the store may be behind it. */
export class KeptOutException extends StoreUnavailableException {}

/** Codes of a file that is locked, full, read-only, damaged or gone (sqlite.org/rescode.html); extended ones start so. */
const SQLITE_CODES =
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|PROTOCOL|NOMEM)/;

// postgresql.org/docs/current/errcodes-appendix.html: of the connection (08), a server that is read-only (25006), time-outs
// (25P0, 55P03, 57014), the login (28, 3D), recovery (40001, XX), what is gone (42), resources (53), a stop (57P), a disk (58).
const POSTGRES_CODES =
  /^(08...|25006|25P0[34]|28...|3D...|40001|42501|42P01|53...|55P03|57...|58...|XX...)$/;

/** Node's codes for a connection that broke, or a server that cannot be found (nodejs.org/api/errors.html). */
const NETWORK_CODES = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;

/** Codes of a refused name, password, database, table or right, and SQLite's: a start would fail again. */
const FINAL_CODES = /^(28|3D|42501|42P01|SQLITE)/;

/** Texts of pg's errors for a broken connection, which have no code (brianc/node-postgres#2780). */
const CONNECTION_LOST =
  /^(timeout exceeded when trying to connect|Connection terminated|timeout expired)/;

/** Whether a driver's error says that the store is unavailable, so that a later try may succeed. */
function isUnavailable(error: unknown): boolean {
  // An instanceof would miss SQLite's errors, which are made in the context that loaded the driver first.
  if (!Error.isError(error)) return false;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if ([SQLITE_CODES, POSTGRES_CODES, NETWORK_CODES].some((codes) => codes.test(code))) return true;
  // A socket that is a file may not be there: ENOENT.
  return syscall === 'connect' || isMissingTable(error);
}

/** Whether a table was renamed or dropped: SQLite has no code for that. */
function isMissingTable(error: unknown): boolean {
  return Error.isError(error) && error.message.startsWith('no such table');
}

/** Codes of what an operator's change of the store may cause, such as a table that was renamed, or a file that was overwritten. */
const SYMPTOM_CODES = /^(SQLITE_(CORRUPT|IOERR|NOTADB|READONLY)|42)/;

/** Whether a store that is no longer what its migrations made may be behind an error that a request has got. */
export function mayBeSymptom(error: unknown): boolean {
  const reason = toStoreError(error);
  if (reason instanceof KeptOutException || !(reason instanceof ApiException)) return true;
  const { cause } = reason;
  return SYMPTOM_CODES.test(readCode(cause)) || isMissingTable(cause);
}

/** Found in what is stored; src/errors/operator-message.ts says what to do. */
export class DamageError extends Error {
  readonly code = 'DAMAGE';
}

/** Returns StoreUnavailableException if a later try may succeed, else the error as it is. */
export function toStoreError(error: unknown): unknown {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (cause instanceof StoreUnavailableException) return cause;
  return isUnavailable(cause) ? toStoreUnavailable(cause) : error;
}

export function toStoreUnavailable(error: unknown): StoreUnavailableException {
  if (error instanceof StoreUnavailableException) return error;
  return new StoreUnavailableException(describeError(error), { cause: error });
}

/** Whether to retry a start that failed with this error. */
export function isUnavailableAtStart(error: unknown): boolean {
  const reason = toStoreError(error);
  if (reason instanceof StoreProblem) return reason.finding.effect === 'read-only';
  if (!(reason instanceof StoreUnavailableException)) return false;
  const { cause } = reason;
  // Without a cause it is a warning that a commit did not wait.
  if (!Error.isError(cause) || CONNECTION_LOST.test(cause.message)) return true;
  return isUnavailable(cause) && !FINAL_CODES.test(readCode(cause));
}

/** Codes with which a database refuses to commit, not those of a connection, a stop of the server, or a failed disk. */
const REFUSED = /^(SQLITE_(?!IOERR)|(?!08|40003|57P|58)[\dFHP][\dA-Z]{4}$)/;

/** Returns the error of a COMMIT as it is if the database has refused; otherwise adds what is unknown, and how to find out. */
export function toCommitError(error: unknown, doubt: string): unknown {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  // A StoreUnavailableException may explain the database's error, which is its cause.
  const codes = [cause, (cause as Error | undefined)?.cause].map(readCode);
  if (codes.some((code) => REFUSED.test(code))) return error;
  return new Error(`${describeError(error)}, and it is unknown whether ${doubt}`, {
    cause: error,
  });
}
