import { QueryFailedError } from 'typeorm';
import { describeError } from '../errors/describe.js';

/** The store cannot be reached or written now; whether what was under way is stored is not known. */
export class StoreAwayError extends Error {}

/** An error as one that says that the store is away. */
export function toStoreAway(error: unknown): StoreAwayError {
  if (error instanceof StoreAwayError) return error;
  return new StoreAwayError(describeError(error), { cause: error });
}

/**
 * Codes that say something of the store, not of the statement. SQLite (sqlite.org/rescode.html): it
 * is locked, full, read-only, damaged or gone; extended codes start with them.
 */
const SQLITE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|PROTOCOL|NOMEM)/;

/**
 * PostgreSQL (postgresql.org/docs/current/errcodes-appendix.html): the connection broke (08), it is
 * read-only after a failover (25006), took too long for it (25P03, 25P04), lets us in no more (28, 3D), its recovery took precedence
 * (40001), it has no room (53), a lock or a statement took too long (55P03, 57014), it starts or stops
 * (57P), its disk fails (58), or something within it (XX; a look at a server in recovery, too).
 */
const POSTGRES = /^(08...|25006|25P0[34]|28...|3D...|40001|53...|55P03|57...|58...|XX...)$/;

/** Node's codes for a connection that broke, or a server that cannot be found (nodejs.org/api/errors.html). */
const NETWORK = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;

/** The driver of PostgreSQL tells these by their messages alone. */
const DRIVER =
  /^(timeout exceeded when trying to connect|Connection terminated|Query read timeout|timeout expired|Client has encountered a connection error)/;

/** Whether an error says that the store is away, so that a later try may do. */
export function isStoreAway(error: unknown): boolean {
  if (error instanceof StoreAwayError) return true;
  const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (!(cause instanceof Error)) return false;
  const { code, syscall } = cause as NodeJS.ErrnoException;
  // A socket that is a file may not be there: ENOENT.
  return isAwayCode(code) || syscall === 'connect' || DRIVER.test(cause.message);
}

/** Whether a driver's error code is one of those. */
export function isAwayCode(code: unknown): boolean {
  return (
    typeof code === 'string' && (SQLITE.test(code) || POSTGRES.test(code) || NETWORK.test(code))
  );
}
