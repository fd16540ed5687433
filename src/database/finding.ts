/**
 * What is wrong with a store, as plain data: a thread sends it, and PostgreSQL and SQLite make it by SQL. This file imports
 * nothing, as the writing thread of SQLite loads it, which must start fast.
 */

/**
 * What a problem of the store does: rows may be `hidden` from a reader; something is `missing` that a migration makes; the
 * server is `read-only` for now; or it is `unsafe` to write, as plants could be lost, changed or refused.
 */
export type ProblemEffect = 'hidden' | 'missing' | 'read-only' | 'unsafe';

/** What is not so, and the remedy with its commands in backticks. */
export interface Finding {
  readonly effect: ProblemEffect;
  readonly what: string;
  readonly remedy: string;
}

export function unsafe(what: string, remedy: string): Finding {
  return { effect: 'unsafe', what, remedy };
}

/** The remedy for what no command can put back. */
export const RESTORE = 'restore a backup (docs/operating.md#restore)';
