import type { Response } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Rate } from '../config/parsers.js';
import { documentHeader, type Headers } from '../errors/error.dto.js';
import { ERRORS, Fault } from '../errors/errors.js';
import { getExchange } from '../http/exchange.js';
import type { Principal } from './token-verifier.js';

/** The policy's name in the headers: each token has its own limit. */
const POLICY_NAME = '"token"';

/**
 * Counts the requests of each principal in this process, and refuses those over RATE_LIMIT. The library's cost
 * is too small to measure (docs/performance.md).
 */
export class RateLimiter {
  private readonly limiter: RateLimiterMemory;
  private readonly policy: string;

  constructor({ requests, seconds }: Rate) {
    this.limiter = new RateLimiterMemory({ points: requests, duration: seconds });
    this.policy = `${POLICY_NAME};q=${requests};w=${seconds}`;
  }

  /**
   * Counts a request, and tells its client what is left in the headers of
   * draft-ietf-httpapi-ratelimit-headers-10: `r` requests for the next `t` seconds.
   *
   * @throws Fault RATE_LIMITED if nothing is left
   */
  async count({ id }: Principal, response: Response): Promise<void> {
    const state = await this.limiter.consume(id).catch(acceptRefusal);
    const seconds = Math.ceil(state.msBeforeNext / 1_000);
    const exchange = getExchange(response);
    const left = `${POLICY_NAME};r=${state.remainingPoints};t=${seconds}`;
    exchange.addHeaders(['ratelimit-policy', this.policy, 'ratelimit', left]);
    if (state.consumedPoints <= this.limiter.points) return;
    exchange.addHeaders(['retry-after', String(Math.max(1, seconds))]);
    throw new Fault(ERRORS.RATE_LIMITED);
  }
}

/** The library rejects with the state itself if nothing is left. */
function acceptRefusal(rejected: unknown): RateLimiterRes {
  if (rejected instanceof RateLimiterRes) return rejected;
  throw rejected;
}

/**
 * Documents the headers of a rate limit.
 *
 * @param left requests that the example has left
 * @param required whether every such answer carries the headers; if not, only a service with a limit sends them
 */
export function documentRateLimit(left: number, required: boolean): Headers {
  const where = required ? '' : '; only where the operator has set one';
  return {
    'RateLimit-Policy': documentHeader(
      `The limit: \`q\` requests in \`w\` seconds${where}`,
      '"token";q=200;w=1',
      required,
    ),
    RateLimit: documentHeader(
      `What is left of the limit: \`r\` requests for the next \`t\` seconds${where}`,
      `"token";r=${left};t=1`,
      required,
    ),
  };
}
