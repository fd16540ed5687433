import type { Config } from '../config/config.js';

type Timeout = Pick<Config, 'databaseTimeout'>;

/**
 * Milliseconds for one look to the store. A request takes two, for its token and for its plant, and
 * `databaseTimeout` is for both together.
 */
export function lookPatience({ databaseTimeout }: Timeout): number {
  return databaseTimeout / 2;
}

/** Milliseconds for a statement, or for a connection: it fails before the look that waits for it. */
export function statementPatience(timeout: Timeout): number {
  return 0.8 * lookPatience(timeout);
}
