// Finds the principal of a JSON Web Token.
import type { OnApplicationShutdown } from '@nestjs/common';
import { decodeJwt, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../config/config.js';
import { ERRORS, ApiException, type LogMembers } from '../../errors/error-codes.js';
import { hashToken } from '../tokens/token.entity.js';
import { toLogMembers, InvalidTokenException, type Principal } from '../principal.js';
import { ProviderKeys } from './provider-keys.js';

const MAX_CACHED_JWTS = 10_000;
/**
 * Signatures that are checked at once. They run in libuv's pool of 4 threads: 16 for each keep it busy from one turn of
 * the event loop to the next. Unauthenticated clients, who need no key to have a token checked, can queue no more.
 */
export const MAX_CHECKS = 64;
/** Seconds by which the provider's clock may differ from ours. */
const CLOCK_TOLERANCE_SECONDS = 30;
/** Signatures by a private key: a public key is no secret to sign with (RFC 8725, section 3.1). */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/**
 * The JWS Compact Serialization (RFC 7515, section 7.1). A signature has one valid spelling: unused bits of its last
 * character are zero (RFC 4648, section 3.5).
 */
const JWS = /^[\w-]+\.[\w-]+\.(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;
/**
 * Types of access tokens (RFC 9068, section 4). Many providers call theirs just JWT, or nothing. Other types,
 * such as `logout+jwt`, are no access tokens (RFC 8725, section 3.11).
 */
const TOKEN_TYPES = /^(application\/)?(at\+)?jwt$/i;
/** Printable ASCII, as OpenID Connect Core 1.0 bounds it (section 2): it goes to logs and the store. */
const SUBJECT = /^[\x20-\x7E]{1,255}$/;

/** What is known of an access token whose signature and claims are valid. */
interface AccessToken {
  readonly principal: Principal;
  readonly hasScope: boolean;
  /** Milliseconds since 1970 at which it expires, the tolerance included. */
  readonly endsAt: number;
}

/** Verifies the access tokens of the operator's identity provider: JSON Web Tokens (RFC 7519). */
export class JwtVerifier implements OnApplicationShutdown {
  /** Valid tokens. Each is verified once, and again when it expires. A new cache replaces this one when the keys change. */
  private cache = createCache();
  /** Checks in flight. In the cache, by its fetch(), each forged token would push out a valid one. */
  private readonly pending = new Map<string, Promise<AccessToken>>();
  private readonly keys: ProviderKeys;
  private readonly stopping = new AbortController();
  private checks = 0;

  constructor(private readonly config: Config) {
    const forget = () => (this.cache = createCache());
    this.keys = new ProviderKeys(config, forget, this.stopping.signal);
  }

  /** Asks for the keys before the first token comes. */
  prepare(): void {
    this.keys.start();
  }

  onApplicationShutdown(): void {
    this.stopping.abort();
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
    const kind = ERRORS.INSUFFICIENT_SCOPE;
    const { authScope } = this.config;
    const challenge = `${kind.headers['www-authenticate']}, scope="${authScope}"`;
    const headers = { 'www-authenticate': challenge };
    const details = toLogMembers(principal);
    throw new ApiException({ ...kind, headers }, `${kind.message} ${authScope}`, { details });
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
    if (!JWS.test(token))
      throw new InvalidTokenException(
        'malformed: neither plant_ and 38 letters and digits nor a JSON Web Token',
      );
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
      throw error instanceof ApiException ? error : explain(error, token);
    } finally {
      this.checks -= counted;
    }
  }
}

function createCache() {
  return new LRUCache<string, AccessToken>({ max: MAX_CACHED_JWTS });
}

/** @throws jose's errors, and what `find` throws */
async function verifyAccessToken(
  token: string,
  find: JWTVerifyGetKey,
  { authIssuer = '', authAudience = '', authScope }: Config,
): Promise<AccessToken> {
  const { payload, protectedHeader } = await jwtVerify(token, find, {
    algorithms: ALGORITHMS,
    issuer: authIssuer,
    audience: authAudience,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    requiredClaims: ['exp', 'sub'],
  });
  const { sub, cnf, exp = 0, scope, scp } = payload;
  const { typ = 'JWT' } = protectedHeader;
  assertClaim(typeof typ === 'string' && TOKEN_TYPES.test(typ), payload, 'typ');
  const principal = toPrincipal(sub);
  assertClaim(principal !== undefined, payload, 'sub');
  // Such a token is valid only with proof of a key (RFC 7800), which a bearer does not send.
  assertClaim(cnf === undefined, payload, 'cnf');
  // The claim is `scope` (RFC 8693, section 4.2). Some providers call it `scp`, or send a list.
  const scopes = [scope, scp].flatMap((claim) =>
    typeof claim === 'string' ? claim.split(' ') : claim,
  );
  const endsAt = (exp + CLOCK_TOLERANCE_SECONDS) * 1_000;
  return { principal, hasScope: scopes.includes(authScope), endsAt };
}

function assertClaim(isRight: boolean, payload: JWTPayload, claim: string): asserts isRight {
  if (!isRight) throw new errors.JWTClaimValidationFailed('unexpected value', payload, claim);
}

function toPrincipal(sub: unknown): Principal | undefined {
  const isValid = typeof sub === 'string' && SUBJECT.test(sub);
  return isValid ? { id: `jwt:${sub}`, name: sub } : undefined;
}

/** Describes for the log what is wrong with a token and whom it names, without the rest of its content. */
function explain(error: unknown, token: string): InvalidTokenException {
  if (!(error instanceof errors.JOSEError))
    return new InvalidTokenException('its key cannot be used', readSubject(token));
  if (!(error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired))
    return new InvalidTokenException(error.code, readSubject(token));
  // Claims are checked last, so the signature is right.
  const { code, claim, payload } = error;
  const time = /^(exp|nbf|iat)$/.test(claim) ? describeTime(payload[claim]) : '';
  const principal = toPrincipal(payload.sub);
  return new InvalidTokenException(
    `${code}, ${claim}${time}`,
    principal && toLogMembers(principal),
  );
}

/** How far a time is from now, which shows a clock that is wrong. @param time seconds since 1970 */
function describeTime(time: unknown): string {
  if (typeof time !== 'number') return '';
  const seconds = Math.round(time - Date.now() / 1_000);
  return seconds < 0 ? ` is ${-seconds} s ago` : ` is in ${seconds} s`;
}

/** Whom a token names that anybody may have made. */
function readSubject(token: string): LogMembers {
  try {
    return { unverifiedSub: toPrincipal(decodeJwt(token).sub)?.name };
  } catch {
    return {};
  }
}
