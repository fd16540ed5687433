import {
  exportJWK,
  generateKeyPair,
  SignJWT,
  type CryptoKey,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
} from 'jose';

/** The key pair of an identity provider. */
export class SigningKey {
  private constructor(
    readonly kid: string,
    readonly alg: string,
    readonly privateKey: CryptoKey,
    /** Both as JSON Web Keys. */
    readonly privateJwk: JWK,
    readonly publicJwk: JWK,
  ) {}

  /** @param kid its id in the key set */
  static async create(kid: string, alg = 'ES256'): Promise<SigningKey> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const of = async (key: CryptoKey) => ({ ...(await exportJWK(key)), kid, alg, use: 'sig' });
    return new SigningKey(kid, alg, privateKey, await of(privateKey), await of(publicKey));
  }

  /** Signs any claims under any header. */
  sign(claims: JWTPayload, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
    const { alg, kid } = this;
    return new SignJWT(claims)
      .setProtectedHeader({ alg, kid, typ: 'at+jwt', ...header })
      .sign(this.privateKey);
  }
}
