import { ApiException, ERRORS } from '../errors/error-codes.js';

/** Maximum number of requests that wait for a lookup of one kind: more than there are connections. */
export const MAX_WAITING = 320;

/** Limits how many requests wait at once: they stay in memory after their client has left, and may all share one lookup. */
export class WaitLimit {
  private waiting = 0;

  constructor(private readonly max = MAX_WAITING) {}

  /** @param find starts or joins a lookup. @throws ApiException OVERLOADED; what `find` throws */
  async wait<Found>(find: () => Promise<Found>): Promise<Found> {
    if (this.waiting >= this.max) throw new ApiException(ERRORS.OVERLOADED);
    this.waiting += 1;
    try {
      return await find();
    } finally {
      this.waiting -= 1;
    }
  }
}
