import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { JsonBodyGuard } from '../http/json-body.js';
import { BearerGuard } from './bearer.guard.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { Stopwatch } from './stopwatch.js';

/** If the limit and the body took less time than this, the token is not verified a second time. */
const MAX_BODY_MS = 500;

/**
 * Guards an operation: the token is verified, the request is counted against the token's limit, the body is read, and the token is
 * verified once more if the body was late, as it may have been revoked meanwhile. So this guard reads no body without a valid token.
 */
@Injectable()
export class OperationGuard implements CanActivate {
  constructor(
    private readonly token: BearerGuard,
    private readonly limit: RateLimitGuard,
    private readonly body: JsonBodyGuard,
  ) {}

  /** @throws ApiException that the guards throw */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    await this.token.canActivate(context);
    const sinceVerified = new Stopwatch();
    await this.limit.canActivate(context);
    await this.body.canActivate(context);
    return sinceVerified.elapsedMs < MAX_BODY_MS || this.token.canActivate(context);
  }
}
