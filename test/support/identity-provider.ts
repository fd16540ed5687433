import { createServer, type RequestListener, type Server } from 'node:http';
import {
  exportJWK,
  generateKeyPair,
  SignJWT,
  type CryptoKey,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
} from 'jose';
import type { Adapter, AsymmetricSigningAlgorithm } from 'oidc-provider';
import { end, listen } from './local-server.js';

/** The audience of the service. */
export const AUDIENCE = 'https://plants.example';

const SCOPE = 'plants:create';
const CLIENT = { client_id: 'nursery', client_secret: 'of-the-nursery' };

/** A response that a test sets. A body that is not text is sent as JSON. */
export interface KeyResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

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

/**
 * An identity provider on this machine: its responses are those that a test sets, or those of a real
 * OpenID provider that issues JSON Web Tokens to the client `nursery`.
 */
export class IdentityProvider {
  /** Requested paths with their queries. */
  readonly asked: string[] = [];
  /** Responses by path. Without keys other paths never get one. */
  responses: Readonly<Record<string, KeyResponse>> = {};
  private keys: readonly SigningKey[] = [];
  private openId: (...args: Parameters<RequestListener>) => unknown = () => undefined;
  private server: Server | undefined;
  private port = 0;

  /** @param algorithms one for each key, which is also the key's id */
  static async start(algorithms: readonly string[] = ['ES256']): Promise<IdentityProvider> {
    const provider = new IdentityProvider();
    await provider.listen();
    const keys = await Promise.all(algorithms.map((alg) => SigningKey.create(alg, alg)));
    if (keys.length > 0) await provider.use(keys);
    return provider;
  }

  /** The key of an id; without one the first. */
  key(kid?: string): SigningKey {
    const key = this.keys.find((one) => kid === undefined || one.kid === kid);
    if (!key) throw new Error(`no key ${kid}`);
    return key;
  }

  /** Its address, which is its issuer too. */
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The variables of a service that accepts its tokens. */
  get env(): Readonly<Record<string, string>> {
    return { AUTH_ISSUER: this.url, AUTH_AUDIENCE: AUDIENCE };
  }

  /** Starts to listen, always at the same address. */
  async listen(): Promise<void> {
    this.server = createServer((request, response) => {
      const { url = '' } = request;
      this.asked.push(url);
      const own = this.responses[url];
      if (!own) return void this.openId(request, response);
      const { status = 200, headers, body } = own;
      const isText = typeof body === 'string' || Buffer.isBuffer(body);
      response.writeHead(status, headers).end(isText ? body : JSON.stringify(body));
    });
    this.port = await listen(this.server, this.port);
  }

  /** Stops listening. */
  async stop(): Promise<void> {
    if (this.server?.listening) await end(this.server);
  }

  /** Requests an access token by client credentials, for a resource (RFC 8707). */
  async token(): Promise<string> {
    const { client_id: id, client_secret: secret } = CLIENT;
    const response = await fetch(`${this.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}`, connection: 'close' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        resource: AUDIENCE,
        scope: SCOPE,
      }),
    });
    return ((await response.json()) as { access_token: string }).access_token;
  }

  /** Replaces the keys: signs with the first from now on, and publishes all. */
  async use(keys: readonly SigningKey[]): Promise<void> {
    this.keys = keys;
    const alg = this.key().alg as AsymmetricSigningAlgorithm;
    const jwt = { accessTokenFormat: 'jwt', jwt: { sign: { alg } } } as const;
    const grants = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };
    // Imported here, as few tests need it.
    const { default: Provider } = await import('oidc-provider');
    const provider = new Provider(this.url, {
      // JSON Web Tokens by client credentials need no store.
      adapter: () => ({}) as Adapter,
      jwks: { keys: keys.map(({ privateJwk }) => privateJwk) },
      clients: [{ ...CLIENT, ...grants, id_token_signed_response_alg: alg }],
      scopes: [SCOPE],
      ttl: { ClientCredentials: 600 },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => ({ scope: SCOPE, audience: AUDIENCE, ...jwt }),
        },
      },
    });
    this.openId = provider.callback();
  }
}
