// A create, step 4 of 13: finds the principal of a JSON Web Token.
import type { OnApplicationShutdown } from '@nestjs/common';
import type { JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../config/config.js';
import { ERRORS, type ErrorCode, ApiException } from '../../errors/error-codes.js';
import { hashToken } from '../tokens/token.entity.js';
import { describeHolder, type Principal } from '../principal.js';
import { verifyAccessToken, type AccessToken } from './access-token.js';
import { ProviderKeys } from './provider-keys.js';

const MAX_CACHED_JWTS = 10_000;

/**
 * Signatures that are checked at once. They run in libuv's pool of 4 threads: 16 for each keep it busy from one turn of
 * the event loop to the next. Unauthenticated clients, who need no key to have a token checked, can queue no more.
 */
export const MAX_CHECKS = 64;

/** Verifies the access tokens of the operator's identity provider: JSON Web Tokens (RFC 7519). */
export class JwtVerifier implements OnApplicationShutdown {
  /** Valid tokens. Each is verified once, and again when it expires. A new cache replaces this one when the keys change. */
  private cache = createCache();
  /** Checks in flight. In the cache, by its fetch(), each forged token would push out a valid one. */
  private readonly pending = new Map<string, Promise<AccessToken>>();
  private readonly keys: ProviderKeys;
  private readonly stopping = new AbortController();
  private readonly lacksScope: ErrorCode;
  private checks = 0;

  constructor(private readonly config: Config) {
    const forget = () => (this.cache = createCache());
    this.keys = new ProviderKeys(config, forget, this.stopping.signal);
    const challenge = ERRORS.INSUFFICIENT_SCOPE.headers['www-authenticate'];
    this.lacksScope = {
      ...ERRORS.INSUFFICIENT_SCOPE,
      headers: { 'www-authenticate': `${challenge}, scope="${config.authScope}"` },
    };
  }

  /** Asks for the keys before the first token comes. */
  prepare(): void {
    this.keys.start();
  }

  /**
   * The holder of a token.
   *
   * @throws InvalidTokenException; ApiException INSUFFICIENT_SCOPE, IDENTITY_PROVIDER_UNAVAILABLE, OVERLOADED
   */
  async verify(token: string): Promise<Principal> {
    const hash = hashToken(token);
    let verified = this.cache.get(hash);
    if (!verified || Date.now() >= verified.endsAt) verified = await this.checkOnce(token, hash);
    const { principal, hasScope } = verified;
    if (hasScope) return principal;
    throw new ApiException(this.lacksScope, undefined, { details: describeHolder(principal) });
  }

  onApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** Requests that bring one new token at once share one check of it. */
  private checkOnce(token: string, hash: string): Promise<AccessToken> {
    let check = this.pending.get(hash);
    if (!check) {
      check = this.check(token, hash).finally(() => this.pending.delete(hash));
      this.pending.set(hash, check);
    }
    return check;
  }

  private async check(token: string, hash: string): Promise<AccessToken> {
    let counted = 0;
    // A check is counted once its key is found: a token that waits for the provider takes no CPU time.
    const find: JWTVerifyGetKey = async (header, jws) => {
      const key = await this.keys.find(header, jws);
      if (this.checks >= MAX_CHECKS) throw new ApiException(ERRORS.OVERLOADED);
      counted = 1;
      this.checks += 1;
      return key;
    };
    // Taken before the check: if the keys change meanwhile, the token is verified again.
    const { cache } = this;
    try {
      const verified = await verifyAccessToken(token, find, this.config);
      // Only valid tokens are cached, so forged ones push none out.
      cache.set(hash, verified);
      return verified;
    } finally {
      this.checks -= counted;
    }
  }
}

function createCache() {
  return new LRUCache<string, AccessToken>({ max: MAX_CACHED_JWTS });
}
