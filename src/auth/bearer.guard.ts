// The guard asks the strategy for the principal of the token.
import { applyDecorators, Injectable, UseGuards, type ExecutionContext } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { AuthGuard } from '@nestjs/passport';
import { ApiBearerAuth } from '@nestjs/swagger';
import type { Request } from 'express';
import { ApiError, documentHeader, RETRY_AFTER } from '../errors/error.dto.js';
import { ERRORS, ApiException } from '../errors/error-codes.js';
import { InvalidTokenException } from './principal.js';
import { documentRateLimit, RateLimitGuard } from './rate-limit.guard.js';

/** The credentials of RFC 6750, section 2.1; the scheme's case does not matter (RFC 9110, 11.1). */
const CREDENTIALS = /^bearer +\S/i;

/** What Passport sees of a request, and adds to it. */
type Attempt = Pick<Request, 'headers' | 'user' | 'authInfo'>;

/** Lets a request pass whose `Authorization` header carries an active token. */
@Injectable()
export class BearerGuard extends AuthGuard('bearer') {
  /**
   * Shows Passport the header, not the request: else every request stays in memory until a full collection. V8 keeps
   * functions that are assigned to properties until then, as Passport assigns five to each attempt, and all that they
   * reach: what getRequest() would return, and the context of AuthGuard's callback. Nest documents no class of contexts;
   * without this one every request with a token fails, as in test/auth/authentication.e2e.spec.ts.
   */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const { authorization = '' } = request.headers;
    const attempt: Attempt = { headers: { authorization } };
    const [controller, handler] = [context.getClass(), context.getHandler()];
    await super.canActivate(new ExecutionContextHost([attempt, {}], controller, handler));
    request.user = attempt.user;
    request.authInfo = attempt.authInfo;
    return true;
  }

  /** @throws ApiException NO_TOKEN; InvalidTokenException; what the strategy has thrown */
  override handleRequest<Holder>(
    error: Error | null,
    principal: Holder | false,
    _info: unknown,
    context: ExecutionContext,
  ): Holder {
    if (error) throw error;
    if (principal) return principal;
    const { authorization = '' } = context.switchToHttp().getRequest<Attempt>().headers;
    if (CREDENTIALS.test(authorization))
      throw new InvalidTokenException('malformed: more than a token after Bearer');
    throw new ApiException(ERRORS.NO_TOKEN);
  }
}

/** Guards an operation, and documents its token and the responses without one. Its module imports AuthModule. */
export function Authenticated(): MethodDecorator & ClassDecorator {
  return applyDecorators(
    UseGuards(BearerGuard, RateLimitGuard),
    ApiBearerAuth('bearerAuth'),
    ApiError(401, 'no bearer token, or an invalid or expired one', {
      headers: {
        'WWW-Authenticate': documentHeader(
          'The challenge of RFC 6750, section 3; with `error="invalid_token"` where a token was sent',
          'Bearer realm="plant-store", error="invalid_token"',
        ),
      },
    }),
    ApiError(
      403,
      'a valid JSON Web Token that lacks the scope; only where the operator accepts such tokens',
      {
        headers: {
          'WWW-Authenticate': documentHeader(
            'The challenge of RFC 6750, section 3, with the scope that is required',
            'Bearer realm="plant-store", error="insufficient_scope", scope="plants:create"',
          ),
        },
      },
    ),
    ApiError(429, "over the token's rate limit, where the operator has set one: try again later", {
      headers: { ...RETRY_AFTER, ...documentRateLimit(0) },
    }),
  );
}
