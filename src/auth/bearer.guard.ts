import {
  applyDecorators,
  Inject,
  Injectable,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import type { Request } from 'express';
import { Strategy, type VerifyFunction } from 'passport-http-bearer';
import { ApiError, documentHeader, RETRY_AFTER } from '../errors/error.dto.js';
import { ERRORS, Fault } from '../errors/errors.js';
import { getConnection } from '../http/connection.js';
import type { JwtVerifier } from './jwt/jwt-verifier.js';
import { documentRateLimit, RateLimiter } from './rate-limiter.js';
import { TokenVerifier, type Principal, type Verdict } from './token-verifier.js';

/** A request that the guard has let pass. */
export type AuthenticatedRequest = Request & { readonly user: Principal };

/** Injects the {@link JwtVerifier}, or undefined without an identity provider. */
export const JWT_VERIFIER = Symbol('JwtVerifier');

/** The credentials of RFC 6750, section 2.1; the scheme's case does not matter (RFC 9110, 11.1). */
const CREDENTIALS = /^bearer +\S/i;
/** The strategy takes one blank only. */
const BLANKS = / {2,}/;

/**
 * The JWS Compact Serialization (RFC 7515, section 7.1), which none of the service's own tokens has. A signature
 * has one valid spelling: unused bits of its last character are zero (RFC 4648, section 3.5).
 */
const JWS = /^[\w-]+\.[\w-]+\.(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

/** One attempt, as Passport makes it: the strategy with `success` and `fail`. */
interface Attempt extends BearerStrategy {
  success: (verdict: Verdict) => unknown;
  fail: () => unknown;
}

/**
 * Passport's bearer strategy (RFC 6750) over the service's own tokens, and JSON Web Tokens if configured. It hands on
 * the verdict as it is, a promise or not; the mixin of @nestjs/passport awaits each.
 */
@Injectable()
export class BearerStrategy extends Strategy<VerifyFunction> {
  constructor(own: TokenVerifier, @Inject(JWT_VERIFIER) jwt: JwtVerifier | undefined) {
    super((token, done) => {
      done(null, (jwt && JWS.test(token) ? jwt : own).verify(token));
    });
  }

  /**
   * Runs the strategy without Passport's middleware, which makes an object with `success`, `fail` and `error` for each
   * request. The strategy sees the one header and nothing else, so no token in a query or a body can reach it.
   *
   * @param authorization the value of the header
   */
  run(authorization: string): Verdict {
    let verdict: Verdict;
    const attempt = Object.create(this) as Attempt;
    attempt.success = (found) => (verdict = found);
    // The verdict stays undefined.
    attempt.fail = () => undefined;
    attempt.authenticate({ headers: { authorization } } as Request);
    return verdict;
  }
}

/**
 * Lets a request pass whose `Authorization` header carries an active token. Not the
 * AuthGuard of @nestjs/passport: it lets the strategy take tokens from the query and the body as well, drops the
 * challenge, and takes 1.06 times the CPU time of a create (docs/performance.md).
 */
@Injectable()
class BearerGuard implements CanActivate {
  constructor(
    private readonly strategy: BearerStrategy,
    @Inject(RateLimiter) private readonly rateLimiter: RateLimiter | undefined,
  ) {}

  /**
   * @throws Fault NO_TOKEN, INVALID_TOKEN, INSUFFICIENT_SCOPE, RATE_LIMITED, OVERLOADED,
   * IDENTITY_PROVIDER_UNAVAILABLE; StoreUnavailable, or the store's error
   */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const { authorization = '' } = request.headers;
    if (!CREDENTIALS.test(authorization)) throw new Fault(ERRORS.NO_TOKEN);
    const verdict = this.strategy.run(authorization.replace(BLANKS, ' '));
    if (verdict instanceof Promise || this.rateLimiter) return this.wait(request, verdict);
    return admit(request, verdict);
  }

  private async wait(request: Request, verdict: Verdict): Promise<boolean> {
    const principal = await verdict;
    admit(request, principal);
    if (principal && request.res) await this.rateLimiter?.count(principal, request.res);
    return true;
  }
}

function admit(request: Request, principal: Principal | undefined): true {
  if (!principal) throw new Fault(ERRORS.INVALID_TOKEN);
  request.user = principal;
  getConnection(request).trust();
  return true;
}

/** Guards an operation, and documents its token and the answers without one. */
export function Authenticated(): MethodDecorator & ClassDecorator {
  return applyDecorators(
    UseGuards(BearerGuard),
    ApiBearerAuth('bearerAuth'),
    ApiError(401, 'no bearer token, or an invalid or expired one', {
      'WWW-Authenticate': documentHeader(
        'The challenge of RFC 6750, section 3; with `error="invalid_token"` where a token was sent',
        'Bearer realm="plant-store", error="invalid_token"',
      ),
    }),
    ApiError(
      403,
      'a valid JSON Web Token that lacks the scope; only where the operator accepts such tokens',
      {
        'WWW-Authenticate': documentHeader(
          'The challenge of RFC 6750, section 3, with the scope that is required',
          'Bearer realm="plant-store", error="insufficient_scope", scope="plants:create"',
        ),
      },
    ),
    ApiError(429, "over the token's rate limit, where the operator has set one: try again later", {
      ...RETRY_AFTER,
      ...documentRateLimit(0, true),
    }),
  );
}
