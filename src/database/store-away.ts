import { QueryFailedError } from 'typeorm';

/**
 * SQLite result codes (sqlite.org/rescode.html) that say something of the store, not of the
 * statement: it is locked, full, read-only, damaged or gone. Extended codes start with them.
 */
const AWAY = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|PROTOCOL|NOMEM)/;

/** Whether an error says that the store cannot be reached or written now, so a later try may do. */
export function isStoreAway(error: unknown): boolean {
  if (!(error instanceof QueryFailedError)) return false;
  const { code } = error.driverError as { code?: unknown };
  return typeof code === 'string' && AWAY.test(code);
}
