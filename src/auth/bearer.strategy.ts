import { Inject, Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { isJws } from './jwt/jws.js';
import type { JwtVerifier } from './jwt/jwt-verifier.js';
import { JWT_VERIFIER } from './jwt/jwt-verifier.provider.js';
import type { Principal } from './principal.js';
import { TokenVerifier } from './token-verifier.js';

/** Passport's bearer strategy (RFC 6750) over the service's own tokens, and JSON Web Tokens if wanted. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  constructor(
    private readonly own: TokenVerifier,
    @Inject(JWT_VERIFIER) private readonly jwt: JwtVerifier | undefined,
  ) {
    super();
  }

  /** Called by Passport with the token that the request carried. */
  async validate(secret: string): Promise<Principal | false> {
    const verifier = this.jwt && isJws(secret) ? this.jwt : this.own;
    return (await verifier.verify(secret)) ?? false;
  }
}
