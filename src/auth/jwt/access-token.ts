import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import type { Config } from '../../config/config.js';
import type { Principal } from '../principal.js';

/** Signatures by a private key: a public key is no secret to sign with (RFC 8725, section 3.1). */
const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const ALGORITHMS = [...RSA, 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
/** Seconds by which the provider's clock may be off ours. */
const CLOCK_SKEW = 30;
/** Printable ASCII, as OpenID Connect Core 1.0 bounds it (section 2): it goes to logs and the store. */
const SUBJECT = /^[\x20-\x7E]{1,255}$/;
/**
 * Types of access tokens (RFC 9068, section 4). Many providers call theirs just JWT, or nothing; what
 * calls itself something else, such as `logout+jwt`, is something else (RFC 8725, section 3.11).
 */
const TYPES = /^(application\/)?(at\+)?jwt$/i;

/** What an access token says, its signature and claims found good. */
export interface AccessToken {
  readonly principal: Principal;
  readonly hasScope: boolean;
  /** Milliseconds since 1970 from which it no longer holds, the skew of clocks allowed for. */
  readonly end: number;
}

/**
 * Reads a JSON Web Token (RFC 7519) that an identity provider has issued for this service.
 *
 * @throws jose's errors where it does not hold, and those of `find`
 */
export async function readAccessToken(
  token: string,
  find: JWTVerifyGetKey,
  { authIssuer = '', authAudience = '', authScope }: Config,
): Promise<AccessToken> {
  const { payload, protectedHeader } = await jwtVerify(token, find, {
    algorithms: ALGORITHMS,
    issuer: authIssuer,
    audience: authAudience,
    clockTolerance: CLOCK_SKEW,
    requiredClaims: ['exp', 'sub'],
  });
  const { sub = '', cnf, exp = 0 } = payload;
  const { typ = 'JWT' } = protectedHeader;
  demand(typeof typ === 'string' && TYPES.test(typ), payload, 'typ');
  demand(typeof sub === 'string' && SUBJECT.test(sub), payload, 'sub');
  // It is for one who holds a key besides (RFC 7800), which a bearer need not.
  demand(cnf === undefined, payload, 'cnf');
  return {
    principal: { id: `jwt:${sub}`, name: sub },
    hasScope: hasScope(payload, authScope),
    end: (exp + CLOCK_SKEW) * 1000,
  };
}

function demand(isRight: boolean, payload: JWTPayload, claim: string): void {
  if (!isRight) throw new errors.JWTClaimValidationFailed('unexpected value', payload, claim);
}

/** In `scope` (RFC 8693, section 4.2), or in `scp`, as some providers call it. */
function hasScope({ scope, scp }: JWTPayload, wanted: string): boolean {
  return [scope, scp].some((claim) => wordsOf(claim).includes(wanted));
}

/** The words of a claim: a text with blanks between them, or a list. */
function wordsOf(claim: unknown): readonly unknown[] {
  if (typeof claim === 'string') return claim.split(' ');
  return Array.isArray(claim) ? claim : [];
}
