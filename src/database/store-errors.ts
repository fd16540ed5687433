import { QueryFailedError } from 'typeorm';
import { describeError } from '../errors/operator-message.js';
import { StoreUnavailableException } from '../errors/error-codes.js';

/** Codes of a file that is locked, full, read-only, damaged or gone (sqlite.org/rescode.html); extended ones start so. */
const SQLITE_CODES =
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|PROTOCOL|NOMEM)/;

/**
 * Codes that the statement did not cause (postgresql.org/docs/current/errcodes-appendix.html): the connection broke (08), the
 * server is read-only after a failover (25006), a transaction took too long (25P03, 25P04), authentication failed (28,
 * 3D), recovery took precedence (40001), a right was revoked (42501), a table was renamed or dropped (42P01), the server
 * has no resources (53), a lock or a statement took too long (55P03, 57014), the server starts or stops (57P), its disk
 * fails (58), or something within it (XX; a lookup on a server in recovery, too).
 */
const POSTGRES_CODES =
  /^(08...|25006|25P0[34]|28...|3D...|40001|42501|42P01|53...|55P03|57...|58...|XX...)$/;

/** Node's codes for a connection that broke, or a server that cannot be found (nodejs.org/api/errors.html). */
const NETWORK_CODES = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;

export const TOO_LONG = 'the store took too long';

/** Codes of damage to what is stored; PostgreSQL's are XX001 and the like, and a failed disk's. */
const DAMAGE_CODES = /^(DAMAGE|SQLITE_(IOERR|CORRUPT|NOTADB)\w*|58030|XX...)$/;

/** Whether a driver's error says that the store is unavailable, so that a later try may succeed. */
export function isUnavailable(error: unknown): boolean {
  // Not by instanceof: SQLite's driver makes its errors in the context that loaded it first.
  if (!Error.isError(error)) return false;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if ([SQLITE_CODES, POSTGRES_CODES, NETWORK_CODES].some((codes) => codes.test(code))) return true;
  // A socket that is a file may not be there: ENOENT. SQLite has no code for a table that was renamed or dropped.
  return syscall === 'connect' || error.message.startsWith('no such table');
}

export class DamageError extends Error {
  readonly code = 'DAMAGE';
}

/** Whether an error, its cause, or an error that a failed close suppressed says that the store is damaged. */
export function isDamage(error: unknown): boolean {
  if (!Error.isError(error)) return false;
  const { code = '', cause } = error as NodeJS.ErrnoException;
  const inner: unknown = error instanceof SuppressedError ? error.suppressed : cause;
  return DAMAGE_CODES.test(code) || isDamage(inner);
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
