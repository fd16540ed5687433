import { createHmac, createPrivateKey, createPublicKey, sign, type BinaryLike } from 'node:crypto';
import { AUDIENCE, type IdentityProvider, type SigningKey } from './identity-provider.js';

/** The header of a valid token. */
export const HEADER = { alg: 'ES256', kid: 'ES256', typ: 'at+jwt' };

/** Unix time in seconds, `ahead` seconds from now. */
export const seconds = (ahead: number): number => Math.floor(Date.now() / 1000) + ahead;

/** Makes tokens that are valid except for what is given. */
export class Forger {
  /**
   * @param stranger an attacker's key with the id of the provider's key
   * @param trapUrl the URL where the attacker publishes that key
   */
  constructor(
    private readonly provider: IdentityProvider,
    readonly stranger: SigningKey,
    readonly trapUrl: string,
  ) {}

  get issuer(): string {
    return this.provider.url;
  }

  get publicJwk(): object {
    return this.provider.key().publicJwk;
  }

  /** The claims of a valid token, with changes. */
  claims(over: object = {}): object {
    const who = { iss: this.issuer, aud: AUDIENCE, sub: 'nursery', client_id: 'nursery' };
    const times = { iat: seconds(0), exp: seconds(600) };
    return { ...who, ...times, jti: '1', scope: 'plants:create', ...over };
  }

  /** A token signed by the provider, with any content. */
  signed(over: object = {}, header: object = {}): string {
    return this.signedAs({ ...HEADER, ...header }, this.claims(over));
  }

  /** The same for a complete header and complete claims. */
  signedAs(header: Part, claims: Part): string {
    return forge(header, claims, byKey(this.provider.key()));
  }

  /** A token signed by the attacker. */
  strange(header: object = {}): string {
    return forge({ ...HEADER, ...header }, this.claims(), byKey(this.stranger));
  }

  /** A token with these bytes as signature. */
  withSignature(bytes: Buffer, header: Part = HEADER): string {
    return forge(header, this.claims(), () => bytes);
  }

  /** A token signed by HMAC, though the provider has no secret. */
  confused(secret: Buffer | string, bits = 256): string {
    return forge({ ...HEADER, alg: `HS${bits}` }, this.claims(), bySecret(secret, bits));
  }

  /** The provider's public key in a form that a careless verifier uses as a secret. */
  publicKey(type: 'pem' | 'der'): Buffer | string {
    const key = createPublicKey({ key: this.provider.key().publicJwk, format: 'jwk' });
    return type === 'pem'
      ? key.export({ type: 'spki', format: 'pem' })
      : key.export({ type: 'spki', format: 'der' });
  }
}

/** A header or claims; a string is used unchanged. */
type Part = object | string;

/** Makes a JSON Web Token with any signer. jose would refuse to make most of these. */
export function forge(header: Part, claims: Part, signer: (input: Buffer) => Buffer): string {
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${signer(Buffer.from(input)).toString('base64url')}`;
}

/** A signer for ES256 (RFC 7518, section 3.4). */
function byKey({ privateJwk }: SigningKey): (input: Buffer) => Buffer {
  const key = createPrivateKey({ key: privateJwk, format: 'jwk' });
  return (input) => sign('sha256', input, { key, dsaEncoding: 'ieee-p1363' });
}

/** A signer for HS256, HS384 and HS512 (RFC 7518, section 3.2). */
export function bySecret(secret: BinaryLike, bits = 256): (input: Buffer) => Buffer {
  return (input) => createHmac(`sha${bits}`, secret).update(input).digest();
}

function encode(part: Part): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
}
