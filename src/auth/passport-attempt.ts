import type { Request } from 'express';
import type { Strategy } from 'passport';

/** Asks a strategy about the value of an `Authorization` header; undefined where it says no. */
export type Authenticate<User> = (authorization: string) => Promise<User | undefined>;

/**
 * Runs a Passport strategy without Passport's middleware. A strategy expects to be the prototype of
 * an object with `success`, `fail` and `error`; Passport makes one a request with `Object.create`
 * and adds the methods to it, which costs 35 µs where a class, whose objects all have one shape,
 * costs few (see docs/performance.md). The strategy sees the one header and nothing else of the
 * request, so no token in a query or a body can reach it.
 */
export function authenticateBy<User>(strategy: Strategy): Authenticate<User> {
  class Attempt {
    constructor(
      readonly success: (user: User) => void,
      readonly fail: () => void,
      readonly error: (error: unknown) => void,
    ) {}
  }
  Object.setPrototypeOf(Attempt.prototype, strategy);
  return (authorization) =>
    new Promise((resolve, reject) => {
      const attempt = new Attempt(resolve, () => resolve(undefined), reject);
      strategy.authenticate.call(attempt as never, { headers: { authorization } } as Request);
    });
}
