import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Config } from '../config/config.js';
import { ERRORS, Fault } from '../errors/errors.js';
import { exchangeOf } from '../http/exchange.js';
import type { Principal } from './principal.js';

/** The policy's name in the headers: it counts what one token does. */
const POLICY = '"token"';

/**
 * Counts the requests of each principal in this process, and refuses those over RATE_LIMIT. What
 * the library costs is lost in the noise of a measurement (docs/performance.md).
 */
@Injectable()
export class RateLimiter {
  private readonly limiter: RateLimiterMemory | undefined;
  private readonly policy: string | undefined;

  constructor({ rateLimit }: Config) {
    if (!rateLimit) return;
    const { requests, seconds } = rateLimit;
    this.limiter = new RateLimiterMemory({ points: requests, duration: seconds });
    this.policy = `${POLICY};q=${requests};w=${seconds}`;
  }

  /** Whether an operator has set a limit at all. */
  get isOn(): boolean {
    return this.limiter !== undefined;
  }

  /**
   * Counts a request, and tells its client what is left in the headers of
   * draft-ietf-httpapi-ratelimit-headers-10: `r` requests for the next `t` seconds.
   *
   * @throws Fault RATE_LIMITED where nothing is left
   */
  async count({ id }: Principal, response: Response): Promise<void> {
    const state = await this.limiter?.consume(id).catch(stateOf);
    if (!state) return;
    const seconds = Math.ceil(state.msBeforeNext / 1_000);
    const exchange = exchangeOf(response);
    const left = `${POLICY};r=${state.remainingPoints};t=${seconds}`;
    exchange.headers = ['ratelimit-policy', this.policy ?? '', 'ratelimit', left];
    if (state.consumedPoints <= (this.limiter?.points ?? 0)) return;
    exchange.headers = [...exchange.headers, 'retry-after', String(Math.max(1, seconds))];
    throw new Fault(ERRORS.RATE_LIMITED);
  }
}

/** The library rejects with the state itself where nothing is left. */
function stateOf(rejected: unknown): RateLimiterRes {
  if (rejected instanceof RateLimiterRes) return rejected;
  throw rejected;
}
