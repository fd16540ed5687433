import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { ERRORS, ApiException } from '../errors/error-codes.js';

/** Refuses requests of a principal over RATE_LIMIT. Runs after the BearerGuard. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(@Inject(RateLimiterMemory) private readonly limiter: RateLimiterMemory | undefined) {}

  /** Sends the headers of draft-ietf-httpapi-ratelimit-headers-10, of the policy "token". @throws ApiException RATE_LIMITED */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (!this.limiter) return true;
    const http = context.switchToHttp();
    const response = http.getResponse<Response>();
    const { points, duration } = this.limiter;
    // Counts as consume() does, which rejects over the limit.
    const state = await this.limiter.penalty(http.getRequest<Request>().user?.id ?? '');
    // The library ends a window by a timer, but computes what is left of it by the wall clock, which may be set back.
    const seconds = Math.min(duration, Math.ceil(state.msBeforeNext / 1_000));
    response.setHeader('ratelimit-policy', `"token";q=${points};w=${duration}`);
    response.setHeader('ratelimit', `"token";r=${state.remainingPoints};t=${seconds}`);
    if (state.consumedPoints <= points) return true;
    response.setHeader('retry-after', Math.max(1, seconds));
    throw new ApiException(ERRORS.RATE_LIMITED);
  }
}
