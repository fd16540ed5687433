import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { ERRORS, Fault } from '../errors/errors.js';
import { BearerStrategy } from './bearer.strategy.js';
import { authenticateBy, type Authenticate } from './passport-attempt.js';
import type { Principal } from './principal.js';
import { RateLimiter } from './rate-limiter.js';

/** The credentials of RFC 6750, section 2.1; the scheme's case does not matter (RFC 9110, 11.1). */
const CREDENTIALS = /^bearer +(\S.*)$/i;

/**
 * Lets a request pass whose `Authorization` header carries a token that holds. Not Passport's own
 * AuthGuard: that one lets the strategy take tokens from the query and the body as well, drops the
 * challenge, and costs a fifth of the throughput (see docs/performance.md).
 */
@Injectable()
export class BearerGuard implements CanActivate {
  private readonly authenticate: Authenticate<Principal>;

  constructor(
    strategy: BearerStrategy,
    private readonly rateLimiter: RateLimiter,
  ) {
    this.authenticate = authenticateBy(strategy);
  }

  /**
   * @throws Fault NO_TOKEN, INVALID_TOKEN, INSUFFICIENT_SCOPE, RATE_LIMITED, OVERLOADED,
   * IDENTITY_PROVIDER_UNAVAILABLE; QueryFailedError where the store fails
   */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const token = CREDENTIALS.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) throw new Fault(ERRORS.NO_TOKEN);
    const principal = await this.authenticate(`Bearer ${token}`);
    if (!principal) throw new Fault(ERRORS.INVALID_TOKEN);
    request.user = principal;
    if (this.rateLimiter.isOn && request.res) await this.rateLimiter.count(principal, request.res);
    return true;
  }
}
