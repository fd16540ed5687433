import { ApiException, ERRORS } from '../errors/error-codes.js';

/** Maximum number of requests that wait for their token. */
export const MAX_WAITING = 1_024;

/**
 * Counts the requests that wait until the database or the identity provider knows their token. They stay in memory even if
 * their client has left, and may all share one lookup.
 */
export class WaitLimit {
  private waiting = 0;

  /** @param find starts or joins a lookup. @throws ApiException OVERLOADED; what the lookup throws */
  async wait<Found>(find: () => Promise<Found>): Promise<Found> {
    if (this.waiting >= MAX_WAITING) throw new ApiException(ERRORS.OVERLOADED);
    this.waiting += 1;
    try {
      return await find();
    } finally {
      this.waiting -= 1;
    }
  }
}
