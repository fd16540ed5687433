import { QueryFailedError } from 'typeorm';
import { COMMAND } from '../config/config.js';
import { describeError, readCode } from '../errors/operator-message.js';
import { ApiException, StoreUnavailableException } from '../errors/error-codes.js';
import { means } from './driver-codes.js';
import { RESTORE, type Finding } from './finding.js';

export const TOO_LONG = 'the store took too long';

/** What a database may be that is no store of this version, and what to do. */
const SCHEMA_ERRORS = {
  empty: [
    'it is empty',
    `: for a new store run \`${COMMAND} migrate\`; to have plants back, ${RESTORE}`,
  ],
  foreign: [
    'it is not a plant store',
    `: run this in the service's folder, or set DATABASE_URL; only for a new store, run \`${COMMAND} migrate\``,
  ],
  older: [
    'its schema is of an older version',
    `: run \`${COMMAND} migrate\`, or start the service with MIGRATE=on`,
  ],
  newer: [
    'its schema is of a newer version',
    ': go forward to it again, or run this by that version (docs/operating.md#upgrade)',
  ],
} as const;

export type SchemaErrorKind = keyof typeof SCHEMA_ERRORS;

/** A database cannot be used as it is. */
export class SchemaError extends Error {
  constructor(
    readonly kind: SchemaErrorKind,
    message: string = SCHEMA_ERRORS[kind][0],
    detail = '',
  ) {
    super(message + detail);
  }
}

/** The store cannot be used. The message says why, for the operator. */
export class StoreUnusableError extends Error {
  /** @param locker who may have kept it from being read */
  constructor(cause: unknown, locker?: string) {
    const more = locker === undefined ? '' : `: ${locker}`;
    const advice = cause instanceof SchemaError ? SCHEMA_ERRORS[cause.kind][1] : more;
    super(`DATABASE_URL: the store cannot be opened: ${describeError(cause)}${advice}`, { cause });
    // TypeOrmModule would log this stack at each try. The stack of the cause says where it failed.
    delete this.stack;
  }
}

/** What an inspection of the store has found, for the operator. */
export class StoreProblem extends StoreUnavailableException {
  constructor(readonly finding: Finding) {
    super(`${finding.what}: ${finding.remedy}`);
  }
}

/** Plants are neither inserted nor found, though the database reports no error: a problem of the store may be behind it. */
export class KeptOutException extends StoreUnavailableException {}

/** Found in what is stored; src/errors/operator-message.ts says what to do. */
export class DamageError extends Error {
  readonly code = 'DAMAGE';
}

/** Texts of pg's errors for a broken connection, which have no code (brianc/node-postgres#2780). */
const CONNECTION_LOST =
  /^(timeout exceeded when trying to connect|Connection terminated|timeout expired)/;

/** The driver's error, which TypeORM wraps. */
function unwrap(error: unknown): unknown {
  return error instanceof QueryFailedError ? error.driverError : error;
}

/** Whether a table was renamed or dropped: SQLite has no code for that. */
function isMissingTable(error: unknown): boolean {
  return Error.isError(error) && error.message.startsWith('no such table');
}

/** Whether a driver's error says that the store is unavailable, so that a later try may succeed. */
function isUnavailable(error: unknown): boolean {
  // An instanceof would miss SQLite's errors, which are made in the context that loaded the driver first.
  if (!Error.isError(error)) return false;
  // A socket that is a file may not be there: ENOENT.
  const isConnecting = (error as NodeJS.ErrnoException).syscall === 'connect';
  return isConnecting || means(error, 'unavailable') || isMissingTable(error);
}

/** Whether a store that is no longer what its migrations made may be behind an error that a request has got. */
export function mayBeSymptom(error: unknown): boolean {
  const reason = toStoreError(error);
  if (reason instanceof KeptOutException || !(reason instanceof ApiException)) return true;
  const { cause } = reason;
  return means(cause, 'symptom') || isMissingTable(cause);
}

/** Whether a statement may have waited too long for a lock: by our timeout, or by 55P03 lock_not_available. */
export function mayBeLocked(error: unknown): boolean {
  const cause = unwrap(error);
  if (cause instanceof StoreUnavailableException) return cause.reason === TOO_LONG;
  return readCode(cause) === '55P03';
}

/** Returns StoreUnavailableException if a later try may succeed, else the error as it is. */
export function toStoreError(error: unknown): unknown {
  const cause = unwrap(error);
  if (cause instanceof StoreUnavailableException) return cause;
  return isUnavailable(cause) ? toStoreUnavailable(cause) : error;
}

export function toStoreUnavailable(error: unknown): StoreUnavailableException {
  if (error instanceof StoreUnavailableException) return error;
  return new StoreUnavailableException(describeError(error), { cause: error });
}

/** Whether the error may pass by itself: a start is tried again, and an inspection is late as long as creates commit. */
export function isTransient(error: unknown): boolean {
  const reason = toStoreError(error);
  if (reason instanceof StoreProblem) return reason.finding.effect === 'read-only';
  if (!(reason instanceof StoreUnavailableException)) return false;
  const { cause } = reason;
  // Without a cause it is a timeout, no session, a closed store, messages out of order, or a commit that did not wait.
  if (!Error.isError(cause) || CONNECTION_LOST.test(cause.message)) return true;
  return isUnavailable(cause) && !means(cause, 'final');
}

/** Returns the error of a COMMIT as it is if the database has refused; otherwise adds what is unknown, and how to find out. */
export function toCommitError(error: unknown, doubt: string): unknown {
  const cause = unwrap(error);
  // A StoreUnavailableException may explain the database's error, which is its cause.
  const explained = (cause as Error | undefined)?.cause;
  if (means(cause, 'refused') || means(explained, 'refused')) return error;
  return new Error(`${describeError(error)}, and it is unknown whether ${doubt}`, {
    cause: error,
  });
}
