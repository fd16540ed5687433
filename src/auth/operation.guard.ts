import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { ERRORS, ApiException } from '../errors/error-codes.js';
import { JsonBodyGuard } from '../http/json-body.js';
import { BearerGuard } from './bearer.guard.js';
import { Stopwatch } from './stopwatch.js';

/** A body that takes no longer is that of a request whose body came with its headers. */
const MAX_BODY_MS = 500;

/**
 * Guards an operation: the token is verified, the request is counted against the token's limit, the body is read, and the token is
 * verified once more if the body was late, as it may have been revoked meanwhile. So no body is read without a valid token.
 */
@Injectable()
export class OperationGuard implements CanActivate {
  /** @param limiter counts requests by principal, in this process; undefined without RATE_LIMIT */
  constructor(
    private readonly token: BearerGuard,
    @Inject(RateLimiterMemory) private readonly limiter: RateLimiterMemory | undefined,
    private readonly body: JsonBodyGuard,
  ) {}

  /** @throws ApiException RATE_LIMITED; those that the guards throw */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    await this.token.canActivate(context);
    const sinceVerified = new Stopwatch();
    if (this.limiter) await countRequest(context, this.limiter);
    await this.body.canActivate(context);
    return sinceVerified.elapsedMs < MAX_BODY_MS || this.token.canActivate(context);
  }
}

/** Sends the headers of draft-ietf-httpapi-ratelimit-headers-10, of the policy "token". @throws ApiException RATE_LIMITED */
async function countRequest(context: ExecutionContext, limiter: RateLimiterMemory): Promise<void> {
  const http = context.switchToHttp();
  const response = http.getResponse<Response>();
  const { points, duration } = limiter;
  // Counts as consume() does, which rejects over the limit.
  const state = await limiter.penalty(http.getRequest<Request>().user?.id ?? '');
  // The library ends a window by a timer, but computes what is left of it by the wall clock, which may be set back.
  const seconds = Math.min(duration, Math.ceil(state.msBeforeNext / 1_000));
  response.setHeader('ratelimit-policy', `"token";q=${points};w=${duration}`);
  response.setHeader('ratelimit', `"token";r=${state.remainingPoints};t=${seconds}`);
  if (state.consumedPoints <= points) return;
  response.setHeader('retry-after', Math.max(1, seconds));
  throw new ApiException(ERRORS.RATE_LIMITED);
}
