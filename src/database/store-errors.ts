import { QueryFailedError } from 'typeorm';
import { describeError } from '../errors/describe.js';
import { StoreUnavailable } from '../errors/errors.js';

/**
 * Codes that say something of the store, not of the statement. SQLite (sqlite.org/rescode.html): it
 * is locked, full, read-only, damaged or gone; extended codes start with them.
 */
const SQLITE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|PROTOCOL|NOMEM)/;

/**
 * PostgreSQL (postgresql.org/docs/current/errcodes-appendix.html): the connection broke (08), it is read-only
 * after a failover (25006), took too long for it (25P03, 25P04), no longer lets us in (28, 3D), its recovery took
 * precedence (40001), it has no room (53), a lock or a statement took too long (55P03, 57014), it starts or stops
 * (57P), its disk fails (58), or something within it (XX; a lookup at a server in recovery, too).
 */
const POSTGRES = /^(08...|25006|25P0[34]|28...|3D...|40001|53...|55P03|57...|58...|XX...)$/;

/** Node's codes for a connection that broke, or a server that cannot be found (nodejs.org/api/errors.html). */
const NETWORK = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;

/** What says that something stored is damaged, or cannot be read. PostgreSQL: XX001 and the like, and a disk's (58). */
const DAMAGE = /^(DAMAGE|SQLITE_(IOERR|CORRUPT|NOTADB)\w*|58030|XX...)$/;

/** The driver of PostgreSQL tells these by their messages alone. */
const DRIVER =
  /^(timeout exceeded when trying to connect|Connection terminated|Query read timeout|timeout expired|Client has encountered a connection error)/;

/** Whether a driver's error says that the store is unavailable, so that a later try may do. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if ([SQLITE, POSTGRES, NETWORK].some((codes) => codes.test(code))) return true;
  // A socket that is a file may not be there: ENOENT.
  return syscall === 'connect' || DRIVER.test(error.message);
}

/** What was read is not what a store holds. */
export class DamageError extends Error {
  readonly code = 'DAMAGE';
}

/** Whether an error, or what caused it, says that the store is damaged. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return DAMAGE.test((error as NodeJS.ErrnoException).code ?? '') || isDamage(error.cause);
}

/** What failed in the store: StoreUnavailable where a later try may do, else the error as it is. The one place that decides. */
export function toStoreError(error: unknown): unknown {
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (cause instanceof StoreUnavailable) return cause;
  return isUnavailable(cause) ? toStoreUnavailable(cause) : error;
}

/** An error as one that says that the store is unavailable. */
export function toStoreUnavailable(error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  return new StoreUnavailable(describeError(error), { cause: error });
}
