import { Inject, Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy } from 'passport-http-bearer';
import type { JwtVerifier } from './jwt/jwt-verifier.js';
import type { Principal } from './principal.js';
import { TokenVerifier } from './tokens/token-verifier.js';

/** Injects the {@link JwtVerifier}; undefined without an identity provider. */
export const JWT_VERIFIER = Symbol('JwtVerifier');

/** Passport's bearer strategy (RFC 6750) over the service's own tokens, and JSON Web Tokens if configured. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  constructor(
    private readonly tokenVerifier: TokenVerifier,
    @Inject(JWT_VERIFIER) private readonly jwtVerifier: JwtVerifier | undefined,
  ) {
    super();
  }

  /** Passes one header only, for a plain `AuthGuard('bearer')`: Passport's strategy would take a token from a query or a body, too. */
  override authenticate({ headers: { authorization = '' } }: Request): void {
    // RFC 9110, section 11.4, allows several blanks after the scheme; Passport's strategy takes one.
    const headers = { authorization: authorization.replace(/ +/, ' ') };
    super.authenticate({ headers } as Request);
  }

  validate(token: string): Promise<Principal> {
    if (token.startsWith('plant_') || !this.jwtVerifier) return this.tokenVerifier.verify(token);
    return this.jwtVerifier.verify(token);
  }
}
