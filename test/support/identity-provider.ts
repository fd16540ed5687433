import type { IncomingMessage, ServerResponse } from 'node:http';
import Provider, { type Adapter, type AsymmetricSigningAlgorithm } from 'oidc-provider';
import { KeyServer } from './key-server.js';
import { SigningKey } from './signing-key.js';

/** The audience of the service. */
export const AUDIENCE = 'https://plants.example';

const CLIENT = { client_id: 'nursery', client_secret: 'of-the-nursery' };

const nothing = (): Promise<undefined> => Promise.resolve(undefined);
/** A provider of JSON Web Tokens by client credentials needs no store. */
const NO_STORE: Adapter = {
  upsert: nothing,
  find: nothing,
  findByUserCode: nothing,
  findByUid: nothing,
  consume: nothing,
  destroy: nothing,
  revokeByGrantId: nothing,
};

/** A real OpenID provider on this machine. It issues JSON Web Tokens to the client `nursery`. */
export class IdentityProvider extends KeyServer {
  private callback: ReturnType<Provider['callback']> | undefined;

  /** @param keys signs with the first, and publishes all */
  private constructor(private keys: readonly SigningKey[]) {
    super();
  }

  /** @param algorithms one for each key, which is also the key's id */
  static override async start(...algorithms: string[]): Promise<IdentityProvider> {
    const names = algorithms.length > 0 ? algorithms : ['ES256'];
    const keys = await Promise.all(names.map((alg) => SigningKey.create(alg, alg)));
    const provider = new IdentityProvider(keys);
    await provider.listen();
    return provider;
  }

  /** The key of an id; without one the first. */
  key(kid?: string): SigningKey {
    const [first] = this.keys;
    const key = kid === undefined ? first : this.keys.find((one) => one.kid === kid);
    if (!key) throw new Error(`no key ${kid}`);
    return key;
  }

  get issuer(): string {
    return this.url;
  }

  /** The variables of a service that accepts its tokens. */
  get env(): Readonly<Record<string, string>> {
    return { AUTH_ISSUER: this.issuer, AUTH_AUDIENCE: AUDIENCE };
  }

  /** Replaces the keys by a new one. */
  async rotate(kid: string): Promise<void> {
    this.keys = [await SigningKey.create(kid)];
    this.callback = undefined;
  }

  /** Requests an access token by client credentials, for a resource (RFC 8707). */
  async token(scope = 'plants:create'): Promise<string> {
    const { client_id: id, client_secret: secret } = CLIENT;
    const response = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}`, connection: 'close' },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: AUDIENCE, scope }),
    });
    return ((await response.json()) as { access_token: string }).access_token;
  }

  protected override respond(request: IncomingMessage, response: ServerResponse): void {
    this.callback ??= this.provider().callback();
    void this.callback(request, response);
  }

  private provider(): Provider {
    const alg = this.key().alg as AsymmetricSigningAlgorithm;
    const server = {
      scope: 'plants:create plants:water',
      audience: AUDIENCE,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg } },
    } as const;
    return new Provider(this.issuer, {
      adapter: () => NO_STORE,
      jwks: { keys: this.keys.map(({ privateJwk }) => privateJwk) },
      clients: [
        {
          ...CLIENT,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
          id_token_signed_response_alg: alg,
        },
      ],
      scopes: server.scope.split(' '),
      ttl: { ClientCredentials: 600 },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: { enabled: true, getResourceServerInfo: () => server },
      },
    });
  }
}
