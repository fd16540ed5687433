// Verifies the access tokens of the operator's identity provider: JSON Web Tokens (RFC 7519).
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import * as jose from 'jose';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../config/config.js';
import { ApiException, InvalidTokenException } from '../../errors/error-codes.js';
import type { Principal } from '../principal.js';
import { SCOPES, toProviderWord, type Scope } from '../scopes.js';
import { hashToken } from '../tokens/token-secret.js';
import { WaitLimit } from '../wait-limit.js';
import { ProviderKeys } from './provider-keys.js';

/** At most 64 verifications are in flight, 16 for each of libuv's 4 threads. Clients without a valid token queue no more. */
export const MAX_VERIFYING = 64;
/** The cache holds 12,000 valid tokens beside those that are in verification or about to be refused, which push out none. */
const MAX_CACHED_JWTS = 12_000 + 2 * MAX_VERIFYING;
const CLOCK_TOLERANCE_SECONDS = 30;
/** All of them sign with a private key. By the others a public key would pass as the secret (RFC 8725, section 3.1). */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** Matches the JWS Compact Serialization (RFC 7515, section 7.1) whose unused last bits are zero (RFC 4648, section 3.5). */
const JWS = /^[\w-]+\.[\w-]+\.(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;
const MALFORMED = 'malformed: neither plant_ and 38 letters and digits nor a JSON Web Token';
/** Access tokens are `at+jwt` (RFC 9068, section 4). Many providers write JWT; a `logout+jwt` is none (RFC 8725, 3.11). */
const TOKEN_TYPES = /^(application\/)?(at\+)?jwt$/i;
/** A subject is printable ASCII of a bounded length (OpenID Connect Core 1.0, section 2), as it goes to logs and the store. */
const SUBJECT = /^[\x20-\x7E]{1,255}$/;

interface AccessToken {
  readonly principal: Principal;
  /** The time at which it expires, with the tolerance, in milliseconds since 1970. */
  readonly endsAt: number;
}

export class JwtVerifier implements OnApplicationBootstrap, OnApplicationShutdown {
  /** A new cache replaces this one when the keys change: what is in flight then is not kept. */
  private cache = this.createCache();
  private readonly keys: ProviderKeys;
  private readonly verifications = new WaitLimit(MAX_VERIFYING);

  constructor(private readonly config: Config) {
    this.keys = new ProviderKeys(config, () => (this.cache = this.createCache()));
  }

  onApplicationBootstrap(): void {
    this.keys.start();
  }

  onApplicationShutdown(): void {
    this.keys.stop();
  }

  /** @throws InvalidTokenException; ApiException IDENTITY_PROVIDER_UNAVAILABLE, OVERLOADED */
  async verify(token: string): Promise<Principal> {
    const hash = hashToken(token);
    const cached = this.find(hash);
    if (cached && !this.keys.areStale) return cached;
    if (!JWS.test(token)) throw new InvalidTokenException(MALFORMED);
    try {
      const header = jose.decodeProtectedHeader(token) as jose.JWSHeaderParameters;
      // A wait for a key does not count among the few verifications. A token with another algorithm does not wait: it is refused.
      if (ALGORITHMS.includes(header.alg ?? '')) await this.keys.ensureKey(header);
      const options = { forceRefresh: true, context: token };
      return this.find(hash) ?? (await this.cache.forceFetch(hash, options)).principal;
    } catch (error) {
      throw error instanceof ApiException ? error : explain(error);
    }
  }

  /** The principal of a token that was verified with the keys that are known, and has not expired. */
  private find(hash: string): Principal | undefined {
    const cached = this.cache.get(hash);
    return cached && Date.now() < cached.endsAt ? cached.principal : undefined;
  }

  /** Requests that bring one new token at once share one verification. Only valid tokens are kept. */
  private createCache() {
    return new LRUCache<string, AccessToken, string>({
      max: MAX_CACHED_JWTS,
      fetchMethod: (_hash, _known, { context: token }) =>
        this.verifications.wait(() => verifyAccessToken(token, this.keys.getKey, this.config)),
      ignoreFetchAbort: true,
    });
  }
}

/** @throws jose's errors */
async function verifyAccessToken(
  token: string,
  find: jose.JWTVerifyGetKey,
  { authIssuer = '', authAudience = '', authScope }: Config,
): Promise<AccessToken> {
  const { payload, protectedHeader } = await jose.jwtVerify(token, find, {
    algorithms: ALGORITHMS,
    issuer: authIssuer,
    audience: authAudience,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    requiredClaims: ['exp', 'sub'],
  });
  const { sub, cnf, exp = 0, scope, scp } = payload;
  const { typ = 'JWT' } = protectedHeader;
  assertClaim(typeof typ === 'string' && TOKEN_TYPES.test(typ), payload, 'typ');
  // The claim is `scope` (RFC 8693, section 4.2). Some providers call it `scp`, or send a list.
  const words = [scope, scp].flatMap((claim) =>
    typeof claim === 'string' ? claim.split(' ') : claim,
  );
  const scopes = SCOPES.filter((name) => words.includes(toProviderWord(name, authScope)));
  const principal = toPrincipal(sub, scopes);
  assertClaim(principal !== undefined, payload, 'sub');
  // Such a token is valid only with proof of a key (RFC 7800), which a bearer does not send.
  assertClaim(cnf === undefined, payload, 'cnf');
  return { principal, endsAt: (exp + CLOCK_TOLERANCE_SECONDS) * 1_000 };
}

function assertClaim(isRight: boolean, payload: jose.JWTPayload, claim: string): asserts isRight {
  if (!isRight) throw new jose.errors.JWTClaimValidationFailed('unexpected value', payload, claim);
}

function toPrincipal(sub: unknown, scopes: readonly Scope[] = []): Principal | undefined {
  const isValid = typeof sub === 'string' && SUBJECT.test(sub);
  return isValid ? { id: `jwt:${sub}`, name: sub, scopes } : undefined;
}

/** Says for the log what is wrong with a token: jose's code, and the claim. */
function explain(error: unknown): InvalidTokenException {
  const { JOSEError, JWTClaimValidationFailed, JWTExpired } = jose.errors;
  if (!(error instanceof JOSEError))
    return new InvalidTokenException('its header or its key cannot be used');
  // Claims are checked last, so the signature is right.
  if (error instanceof JWTClaimValidationFailed || error instanceof JWTExpired) {
    const { code, claim, payload } = error;
    const time = /^(exp|nbf)$/.test(claim) ? describeTime(payload[claim]) : '';
    return new InvalidTokenException(`${code}, ${claim}${time}`, toPrincipal(payload.sub));
  }
  return new InvalidTokenException(error.code);
}

/** Says how far away `exp` or `nbf` is, which shows a wrong clock. */
function describeTime(claim: unknown): string {
  if (typeof claim !== 'number') return '';
  const left = Math.round(claim - Date.now() / 1_000);
  return left > 0 ? ` is in ${left} s` : ` is ${-left} s ago`;
}
