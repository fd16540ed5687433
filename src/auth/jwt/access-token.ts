import { decodeJwt, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import type { Config } from '../../config/config.js';
import { ApiException, type LogMembers } from '../../errors/error-codes.js';
import { describeHolder, InvalidTokenException, type Principal } from '../principal.js';

/**
 * The JWS Compact Serialization (RFC 7515, section 7.1). A signature has one valid spelling: unused bits of its last
 * character are zero (RFC 4648, section 3.5).
 */
const JWS = /^[\w-]+\.[\w-]+\.(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;
const MALFORMED = 'malformed: neither plant_ and 38 letters and digits nor a JSON Web Token';

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

/** An access token whose signature and claims are valid. */
export interface AccessToken {
  readonly principal: Principal;
  readonly hasScope: boolean;
  /** Milliseconds since 1970 at which it expires, the tolerance included. */
  readonly endsAt: number;
}

/**
 * Verifies the signature and the claims of an access token: a JSON Web Token (RFC 7519).
 *
 * @throws InvalidTokenException; ApiException that `find` throws
 */
export async function verifyAccessToken(
  token: string,
  find: JWTVerifyGetKey,
  config: Config,
): Promise<AccessToken> {
  if (!JWS.test(token)) throw new InvalidTokenException(MALFORMED);
  try {
    return await verify(token, find, config);
  } catch (error) {
    throw error instanceof ApiException ? error : explain(error, token);
  }
}

async function verify(
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
    return new InvalidTokenException('its key cannot be fetched or used', readSubject(token));
  if (!(error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired))
    return new InvalidTokenException(error.code, readSubject(token));
  // Claims are checked last, so the signature is right.
  const { code, claim, payload } = error;
  const time = /^(exp|nbf|iat)$/.test(claim) ? describeTime(payload[claim]) : '';
  const principal = toPrincipal(payload.sub);
  return new InvalidTokenException(
    `${code}, ${claim}${time}`,
    principal && describeHolder(principal),
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
