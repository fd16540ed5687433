import { Inject, Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import type { JwtVerifier } from './jwt/jwt-verifier.js';
import type { Principal } from './principal.js';
import { TokenVerifier } from './tokens/token-verifier.js';

/** Injects the {@link JwtVerifier}, or undefined without an identity provider. */
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

  /** @throws what {@link TokenVerifier} and {@link JwtVerifier} throw */
  validate(token: string): Promise<Principal> {
    if (token.startsWith('plant_') || !this.jwtVerifier) return this.tokenVerifier.verify(token);
    return this.jwtVerifier.verify(token);
  }
}
