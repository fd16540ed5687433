import { QueryFailedError } from 'typeorm';

/** The store cannot be reached or written now; whether what was under way is stored is not known. */
export class StoreAwayError extends Error {}

/**
 * SQLite result codes (sqlite.org/rescode.html) that say something of the store, not of the
 * statement: it is locked, full, read-only, damaged or gone. Extended codes start with them.
 */
const AWAY = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|PROTOCOL|NOMEM)/;

/** Whether an error says that the store is away, so that a later try may do. */
export function isStoreAway(error: unknown): boolean {
  if (error instanceof StoreAwayError) return true;
  return (
    error instanceof QueryFailedError && isAwayCode((error.driverError as { code?: unknown }).code)
  );
}

/** Whether a driver's error code is one of those. */
export function isAwayCode(code: unknown): boolean {
  return typeof code === 'string' && AWAY.test(code);
}
