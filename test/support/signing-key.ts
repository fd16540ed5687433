import {
  exportJWK,
  generateKeyPair,
  SignJWT,
  type CryptoKey,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
} from 'jose';

/** A key pair that an identity provider signs with. */
export class SigningKey {
  private constructor(
    readonly kid: string,
    readonly alg: string,
    readonly privateKey: CryptoKey,
    /** Both as JSON Web Keys. */
    readonly privateJwk: JWK,
    readonly publicJwk: JWK,
  ) {}

  /** @param kid what the key set calls it */
  static async create(kid: string, alg = 'ES256'): Promise<SigningKey> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const of = async (key: CryptoKey) => ({ ...(await exportJWK(key)), kid, alg, use: 'sig' });
    return new SigningKey(kid, alg, privateKey, await of(privateKey), await of(publicKey));
  }

  /** Signs whatever claims, under a header that may say anything. */
  sign(claims: JWTPayload, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
    const { alg, kid } = this;
    return new SignJWT(claims)
      .setProtectedHeader({ alg, kid, typ: 'at+jwt', ...header })
      .sign(this.privateKey);
  }
}
