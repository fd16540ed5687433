import { createHmac, createPrivateKey, createPublicKey, sign, type BinaryLike } from 'node:crypto';
import { AUDIENCE, type IdentityProvider } from './identity-provider.js';
import type { SigningKey } from './signing-key.js';

/** The header of a token that holds. */
export const HEADER = { alg: 'ES256', kid: 'ES256', typ: 'at+jwt' };

/** Seconds since 1970, so many from now. */
export const seconds = (ahead: number): number => Math.floor(Date.now() / 1000) + ahead;

/** Makes tokens that hold, but for what is given. */
export class Forger {
  /**
   * @param stranger somebody else's key, under the id of the provider's
   * @param trapUrl where somebody else's server shows that key
   */
  constructor(
    private readonly provider: IdentityProvider,
    readonly stranger: SigningKey,
    readonly trapUrl: string,
  ) {}

  get issuer(): string {
    return this.provider.issuer;
  }

  get publicJwk(): object {
    return this.provider.key().publicJwk;
  }

  /** The claims of a token that holds, but for these. */
  claims(over: object = {}): object {
    const who = { iss: this.issuer, aud: AUDIENCE, sub: 'nursery', client_id: 'nursery' };
    return {
      ...who,
      iat: seconds(0),
      exp: seconds(600),
      jti: '1',
      scope: 'plants:create',
      ...over,
    };
  }

  /** A token that the provider has signed, whatever is in it. */
  signed(over: object = {}, header: object = {}): string {
    return this.signedAs({ ...HEADER, ...header }, this.claims(over));
  }

  /** The same of a whole header and whole claims. */
  signedAs(header: Part, claims: Part): string {
    return forge(header, claims, byKey(this.provider.key()));
  }

  /** A token that the stranger has signed. */
  strange(header: object = {}): string {
    return forge({ ...HEADER, ...header }, this.claims(), byKey(this.stranger));
  }

  /** A token whose signature is these bytes. */
  withSignature(bytes: Buffer, header: Part = HEADER): string {
    return forge(header, this.claims(), () => bytes);
  }

  /** A token signed with a secret, which the provider has none of. */
  confused(secret: Buffer | string, bits = 256): string {
    return forge({ ...HEADER, alg: `HS${bits}` }, this.claims(), bySecret(secret, bits));
  }

  /** The provider's public key in a form that a careless verifier takes for a secret. */
  publicKey(type: 'pem' | 'der'): Buffer | string {
    const key = createPublicKey({ key: this.provider.key().publicJwk, format: 'jwk' });
    return type === 'pem'
      ? key.export({ type: 'spki', format: 'pem' })
      : key.export({ type: 'spki', format: 'der' });
  }
}

/** A header and claims, which may be anything: as text they go as they are. */
export type Part = object | string;

/** A JSON Web Token, signed by whatever is given: jose would refuse to make most of these. */
export function forge(header: Part, claims: Part, signer: (input: Buffer) => Buffer): string {
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${signer(Buffer.from(input)).toString('base64url')}`;
}

/** Signs as ES256 does (RFC 7518, section 3.4). */
export function byKey({ privateJwk }: SigningKey): (input: Buffer) => Buffer {
  const key = createPrivateKey({ key: privateJwk, format: 'jwk' });
  return (input) => sign('sha256', input, { key, dsaEncoding: 'ieee-p1363' });
}

/** Signs as HS256, HS384 and HS512 do (RFC 7518, section 3.2). */
export function bySecret(secret: BinaryLike, bits = 256): (input: Buffer) => Buffer {
  return (input) => createHmac(`sha${bits}`, secret).update(input).digest();
}

function encode(part: Part): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
}
