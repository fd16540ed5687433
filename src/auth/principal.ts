import type { Request } from 'express';

/** Who sends a request, as the guard found it out; `request.user` holds it. */
export interface Principal {
  /**
   * Kept with each plant that it creates, and never given to anyone else: `token:3` is the token
   * whose id is 3, `jwt:alice` whoever the identity provider calls `alice` (`sub`).
   */
  readonly id: string;
  /** What an operator calls it, for the log. */
  readonly name: string;
}

/** A request that the guard has let pass. */
export type AuthenticatedRequest = Request & { readonly user: Principal };
