import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../config/config.js';
import { ERRORS, type ErrorCode, ApiException } from '../../errors/error-codes.js';
import { hashToken } from '../tokens/token.entity.js';
import type { Principal } from '../principal.js';
import { ProviderKeys } from './provider-keys.js';

/** Signatures by a private key: a public key is no secret to sign with (RFC 8725, section 3.1). */
const RSA_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const ALGORITHMS = [...RSA_ALGORITHMS, 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
/** Seconds by which the provider's clock may differ from ours. */
const CLOCK_TOLERANCE_SECONDS = 30;
/** Printable ASCII, as OpenID Connect Core 1.0 bounds it (section 2): it goes to logs and the store. */
const SUBJECT = /^[\x20-\x7E]{1,255}$/;
/**
 * Types of access tokens (RFC 9068, section 4). Many providers call theirs just JWT, or nothing. Other types,
 * such as `logout+jwt`, are no access tokens (RFC 8725, section 3.11).
 */
const TOKEN_TYPES = /^(application\/)?(at\+)?jwt$/i;

const MAX_CACHED_JWTS = 10_000;

/**
 * Signatures that are checked at once. They run in libuv's pool of 4 threads: 16 for each keep it
 * busy from one turn of the event loop to the next, and behind 64 of the slowest (ES512, 1.2 ms) a new
 * token waits some 20 ms. Unauthenticated clients, who need no key to have a token checked, can queue no more.
 */
export const MAX_CHECKS = 64;

/** A token whose signature and claims are good. */
interface Verified {
  readonly principal: Principal;
  readonly hasScope: boolean;
  /** Milliseconds since 1970 at which it expires, the tolerance included. */
  readonly endsAt: number;
}

/** Verifies the access tokens of the operator's identity provider: JSON Web Tokens (RFC 7519). */
export class JwtVerifier implements OnApplicationShutdown {
  private readonly logger = new Logger('Tokens');
  /** Valid tokens. Each is verified once, and again when it expires. A new cache replaces this one when the keys change. */
  private cache = createCache();
  /** Checks in flight. In the cache, by its fetch(), each forged token would push out a valid one. */
  private readonly pending = new Map<string, Promise<Verified | undefined>>();
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
    void this.keys.reload();
  }

  /**
   * The holder of a token, or undefined if the token is invalid or expired.
   *
   * @throws ApiException INSUFFICIENT_SCOPE, IDENTITY_PROVIDER_UNAVAILABLE, OVERLOADED
   */
  async verify(token: string): Promise<Principal | undefined> {
    const hash = hashToken(token);
    let verified = this.cache.get(hash);
    if (!verified || Date.now() >= verified.endsAt) verified = await this.checkOnce(token, hash);
    if (verified && !verified.hasScope) throw new ApiException(this.lacksScope);
    return verified?.principal;
  }

  onApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** Requests that bring one new token at once share one check of it. */
  private checkOnce(token: string, hash: string): Promise<Verified | undefined> {
    let check = this.pending.get(hash);
    if (!check) {
      check = this.check(token, hash).finally(() => this.pending.delete(hash));
      this.pending.set(hash, check);
    }
    return check;
  }

  private async check(token: string, hash: string): Promise<Verified | undefined> {
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
    } catch (error) {
      if (error instanceof ApiException) throw error;
      this.logger.debug(`a JSON Web Token is invalid: ${describeFlaw(error)}`);
      return undefined;
    } finally {
      this.checks -= counted;
    }
  }
}

function createCache() {
  return new LRUCache<string, Verified>({ max: MAX_CACHED_JWTS });
}

/** @throws jose's errors if the token is invalid or expired, and those of `find` */
async function verifyAccessToken(
  token: string,
  find: JWTVerifyGetKey,
  { authIssuer = '', authAudience = '', authScope }: Config,
): Promise<Verified> {
  const { payload, protectedHeader } = await jwtVerify(token, find, {
    algorithms: ALGORITHMS,
    issuer: authIssuer,
    audience: authAudience,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    requiredClaims: ['exp', 'sub'],
  });
  const { sub = '', cnf, exp = 0, scope, scp } = payload;
  const { typ = 'JWT' } = protectedHeader;
  assertClaim(typeof typ === 'string' && TOKEN_TYPES.test(typ), payload, 'typ');
  assertClaim(typeof sub === 'string' && SUBJECT.test(sub), payload, 'sub');
  // Such a token is valid only with proof of a key (RFC 7800), which a bearer does not send.
  assertClaim(cnf === undefined, payload, 'cnf');
  // The claim is `scope` (RFC 8693, section 4.2). Some providers call it `scp`, or send a list.
  const scopes = [scope, scp].flatMap((claim) =>
    typeof claim === 'string' ? claim.split(' ') : claim,
  );
  return {
    principal: { id: `jwt:${sub}`, name: sub },
    hasScope: scopes.includes(authScope),
    endsAt: (exp + CLOCK_TOLERANCE_SECONDS) * 1000,
  };
}

function assertClaim(isRight: boolean, payload: JWTPayload, claim: string): void {
  if (!isRight) throw new errors.JWTClaimValidationFailed('unexpected value', payload, claim);
}

/** Describes for the operator what is wrong with a token, without the token's content. */
function describeFlaw(error: unknown): string {
  if (!(error instanceof errors.JOSEError)) return 'its key cannot be fetched or used';
  return 'claim' in error ? `${error.code}, ${String(error.claim)}` : error.code;
}
