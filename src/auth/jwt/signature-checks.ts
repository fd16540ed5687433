import type { JWTVerifyGetKey } from 'jose';
import { ERRORS, Fault } from '../../errors/errors.js';

/**
 * Checks of signatures under way at once. They run in libuv's pool of 4 threads: 16 for each keep it
 * busy from one turn of the event loop to the next, and behind so many of the slowest (ES512, 1.2 ms)
 * a new token waits some 20 ms. Strangers, who need no key to have one checked, can queue no more.
 */
export const CHECKS = 64;

/** Bounds how many signatures are checked at once. */
export class SignatureChecks {
  private underWay = 0;

  /**
   * Reads a token. It counts from when its key is found: one that waits for the provider is no work.
   *
   * @param read gets the `find` to read with
   * @throws Fault OVERLOADED; what `find` and `read` throw
   */
  async run<T>(find: JWTVerifyGetKey, read: (find: JWTVerifyGetKey) => Promise<T>): Promise<T> {
    let counted = 0;
    const findCounted: JWTVerifyGetKey = async (header, token) => {
      const key = await find(header, token);
      if (this.underWay >= CHECKS) throw new Fault(ERRORS.OVERLOADED);
      this.underWay += 1;
      counted = 1;
      return key;
    };
    try {
      return await read(findCounted);
    } finally {
      this.underWay -= counted;
    }
  }
}
