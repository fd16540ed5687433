import {
  applyDecorators,
  Inject,
  Injectable,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { ApiBearerAuth } from '@nestjs/swagger';
import type { Request } from 'express';
import { Strategy } from 'passport-http-bearer';
import { ApiError, documentHeader, RETRY_AFTER } from '../errors/error.dto.js';
import { ERRORS, Fault } from '../errors/errors.js';
import { getConnection } from '../http/connection.js';
import type { JwtVerifier } from './jwt/jwt-verifier.js';
import { documentRateLimit, RateLimiter } from './rate-limiter.js';
import { TokenVerifier, type Principal } from './token-verifier.js';

/** A request that the guard has let pass. */
export type AuthenticatedRequest = Request & { readonly user: Principal };

/** Injects the {@link JwtVerifier}, or undefined without an identity provider. */
export const JWT_VERIFIER = Symbol('JwtVerifier');

/** The credentials of RFC 6750, section 2.1; the scheme's case does not matter (RFC 9110, 11.1). */
const CREDENTIALS = /^bearer +(\S.*)$/i;

/**
 * The JWS Compact Serialization (RFC 7515, section 7.1), which none of the service's own tokens has. A signature
 * has one valid spelling: unused bits of its last character are zero (RFC 4648, section 3.5).
 */
const JWS = /^[\w-]+\.[\w-]+\.(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

/** Passport's bearer strategy (RFC 6750) over the service's own tokens, and JSON Web Tokens if configured. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  constructor(
    private readonly own: TokenVerifier,
    @Inject(JWT_VERIFIER) private readonly jwt: JwtVerifier | undefined,
  ) {
    super();
  }

  /** Called by Passport with the token that the request carried. */
  async validate(token: string): Promise<Principal | false> {
    const verifier = this.jwt && JWS.test(token) ? this.jwt : this.own;
    return (await verifier.verify(token)) ?? false;
  }
}

/** Finds the principal by the value of an `Authorization` header; undefined if the strategy refuses the value. */
type Authenticate = (authorization: string) => Promise<Principal | undefined>;

/**
 * Runs a Passport strategy without Passport's middleware. A strategy expects to be the prototype of an object with
 * `success`, `fail` and `error`. Passport makes that object by `Object.create` for each request. The objects of a class
 * have one shape, and take a tenth less CPU time for each create.
 * The strategy sees the one header and nothing else of the request, so no token in a query or a body can reach it.
 */
function authenticateBy(strategy: BearerStrategy): Authenticate {
  class Attempt {
    constructor(
      readonly success: (principal: Principal) => void,
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

/**
 * Lets a request pass whose `Authorization` header carries an active token. Not Passport's own
 * AuthGuard: it lets the strategy take tokens from the query and the body as well, drops the
 * challenge, and costs a fifth of the throughput (see docs/performance.md).
 */
@Injectable()
class BearerGuard implements CanActivate {
  private readonly authenticate: Authenticate;

  constructor(
    strategy: BearerStrategy,
    @Inject(RateLimiter) private readonly rateLimiter: RateLimiter | undefined,
  ) {
    this.authenticate = authenticateBy(strategy);
  }

  /**
   * @throws Fault NO_TOKEN, INVALID_TOKEN, INSUFFICIENT_SCOPE, RATE_LIMITED, OVERLOADED,
   * IDENTITY_PROVIDER_UNAVAILABLE; StoreUnavailable, or the store's error
   */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const token = CREDENTIALS.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) throw new Fault(ERRORS.NO_TOKEN);
    const principal = await this.authenticate(`Bearer ${token}`);
    if (!principal) throw new Fault(ERRORS.INVALID_TOKEN);
    request.user = principal;
    getConnection(request).trust();
    if (this.rateLimiter && request.res) await this.rateLimiter.count(principal, request.res);
    return true;
  }
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
