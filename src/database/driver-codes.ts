import { readCode } from '../errors/operator-message.js';

/** What the code of a driver's error tells. */
type Meaning =
  /** The store cannot be used now: clients get 503, and a later try may succeed. */
  | 'unavailable'
  /** An operator has to act: a start that fails with it is not tried again. */
  | 'final'
  /** An operator's change of the store may be the cause, such as a renamed table or an overwritten file: it is inspected. */
  | 'symptom'
  /** The database has refused: a COMMIT that fails with it has stored nothing. */
  | 'refused';

/** The first row whose expression matches a code counts. */
const ROWS: readonly (readonly [RegExp, ...Meaning[]])[] = [
  // SQLite (sqlite.org/rescode.html). Extended codes start with these. A disk that failed may have stored the commit.
  [/^SQLITE_IOERR/, 'unavailable', 'final', 'symptom'],
  [/^SQLITE_(CORRUPT|NOTADB|READONLY)/, 'unavailable', 'final', 'symptom', 'refused'],
  [/^SQLITE_(BUSY|LOCKED|FULL|CANTOPEN|PROTOCOL|NOMEM)/, 'unavailable', 'final', 'refused'],
  [/^SQLITE_/, 'final', 'refused'],
  // Node (nodejs.org/api/errors.html): the connection broke, or the server is not found.
  [/^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/, 'unavailable'],
  // PostgreSQL (postgresql.org/docs/current/errcodes-appendix.html): 42501 insufficient_privilege, 42P01 undefined_table.
  [/^(42501|42P01)$/, 'unavailable', 'final', 'symptom', 'refused'],
  // The statement does not fit the tables, as in 42703 undefined_column.
  [/^42...$/, 'symptom', 'refused'],
  // 23514 check_violation: also that no partition takes the row, as one was detached.
  [/^23514$/, 'symptom', 'refused'],
  // The login is refused (28), or there is no such database (3D).
  [/^(28|3D)...$/, 'unavailable', 'final', 'refused'],
  // The connection broke (08), the server stopped (57P), its disk failed (58), or it has an error of its own (XX).
  [/^(08...|57P..|58...|XX...)$/, 'unavailable'],
  // 40003 statement_completion_unknown: the server does not know whether it has committed.
  [/^40003$/],
  // The server is read-only (25006), a transaction, lock or statement took too long (25P03, 25P04, 55P03, 57014), concurrent
  // transactions conflict (40001) or wait for each other (40P01), or a resource is used up (53).
  [/^(25006|25P0[34]|40001|40P01|53...|55P03|57...)$/, 'unavailable', 'refused'],
  // Every other SQLSTATE is about the statement, as in 23505 unique_violation.
  [/^[\dFHP][\dA-Z]{4}$/, 'refused'],
];

/** Whether an error's code has this meaning. An error without a code has none. */
export function means(error: unknown, meaning: Meaning): boolean {
  const code = readCode(error);
  const row = ROWS.find(([codes]) => codes.test(code));
  return row?.includes(meaning) ?? false;
}
