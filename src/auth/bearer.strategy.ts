import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import type { Principal } from './principal.js';
import { TokenVerifier } from './token-verifier.js';

/** Passport's bearer strategy (RFC 6750) over the service's own tokens. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  constructor(private readonly verifier: TokenVerifier) {
    super();
  }

  /** Called by Passport with the token that the request carried. */
  async validate(secret: string): Promise<Principal | false> {
    return (await this.verifier.verify(secret)) ?? false;
  }
}
