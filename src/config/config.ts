// What the configuration has; environment.ts reads it.
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { isIPv6 } from 'node:net';
import { userInfo } from 'node:os';
import { databaseUrl } from './database-url.js';
import * as parsers from './parsers.js';

/** The version of the service. Its one home is package.json. */
export const { version: VERSION } = JSON.parse(
  readFileSync(findPackageJSON(import.meta.url) ?? '', 'utf8'),
) as { readonly version: string };

/** The commit that the service was built from. A function, as the environment file may set it. */
export const readCommit = () => process.env.GIT_COMMIT || 'unknown';

/** How the operator called the command: bin/plant-store sets the variable. */
export const COMMAND = process.env.PLANT_STORE_COMMAND ?? 'bin/plant-store';

/** An environment variable, the field that it sets, and its default as text; '' for none. */
export interface ConfigVariable {
  readonly name: string;
  readonly field: keyof Config;
  readonly parser: parsers.EnvParser<unknown>;
  readonly defaultText: string;
}

/** Every environment variable of {@link Config}, in its order. */
export const VARIABLES: ConfigVariable[] = [];

/** The fields that can have a value of this type. */
type FieldFor<Value> = {
  [Field in keyof Config]-?: Value extends Config[Field] ? Field : never;
}[keyof Config];

function Variable<Value>(name: string, parser: parsers.EnvParser<Value>, defaultText = '') {
  return (_config: Config, field: FieldFor<Value>) =>
    void VARIABLES.push({ name, field, parser, defaultText });
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

/** The service's configuration: for each field its variable and its default. No field changes while the service runs. */
export class Config {
  /** TCP port of the service. 0 takes a free one. */
  @Variable('PORT', parsers.port, '3000') readonly port!: number;
  /** Address that the service listens on. The default is reachable from this machine only. */
  @Variable('HOST', parsers.host, '127.0.0.1') readonly host!: string;
  /** TCP port of health and metrics. 0 takes a free one; `off` serves neither. */
  @Variable('MANAGEMENT_PORT', parsers.portOrOff, '9464') readonly managementPort!: number | 'off';
  /** Address of health and metrics. */
  @Variable('MANAGEMENT_HOST', parsers.host, '127.0.0.1') readonly managementHost!: string;

  /** The store: `sqlite:` and the path of a file, created with its folder, or the address of a PostgreSQL database. */
  @Variable('DATABASE_URL', databaseUrl, 'sqlite:./data/plant-store.sqlite')
  readonly databaseUrl!: string;
  /** Maximum time in milliseconds that a request waits for the store, all its statements together. */
  @Variable('DATABASE_TIMEOUT', parsers.duration('1s', '60s'), '5s')
  readonly databaseTimeout!: number;
  /** Whether the start migrates the schema. If not, `plant-store migrate` must have done it. */
  @Variable('MIGRATE', parsers.onOff, 'on') readonly migrate!: boolean;

  /** Where clients reach the service: the server that the OpenAPI document names. Unset: where it listens. */
  @Variable('PUBLIC_URL', parsers.baseUrl) readonly publicUrl?: string;
  /** Maximum size of a request body in bytes. */
  @Variable('BODY_LIMIT', parsers.size, '64kb') readonly bodyLimit!: number;
  /** Maximum number of requests of a token in a time. Unset: unlimited. */
  @Variable('RATE_LIMIT', parsers.rate) readonly rateLimit?: parsers.Rate;
  /** Whether the OpenAPI document and Swagger UI are served. */
  @Variable('DOCS', parsers.onOff, 'on') readonly docs!: boolean;
  /** Origins whose pages may call the service from a browser (fetch.spec.whatwg.org, CORS). Empty: none. */
  @Variable('CORS_ORIGINS', parsers.origins) readonly corsOrigins: readonly string[] = [];
  /** Proxies whose `X-Forwarded-For` is believed: their number, or their addresses. */
  @Variable('TRUST_PROXY', parsers.proxies, 'off')
  readonly trustProxy!: number | readonly string[] | false;

  /** File of the certificate and its chain, in PEM. If set, the service speaks TLS only. */
  @Variable('TLS_CERT_FILE', parsers.anyText) readonly tlsCertFile?: string;
  /** File of the certificate's private key, in PEM. */
  @Variable('TLS_KEY_FILE', parsers.anyText) readonly tlsKeyFile?: string;

  /** Identity provider whose JSON Web Tokens are accepted, exactly as in their `iss`. Unset: none are. */
  @Variable('AUTH_ISSUER', parsers.secureUrl) readonly authIssuer?: string;
  /** What the `aud` of a JSON Web Token must name. */
  @Variable('AUTH_AUDIENCE', parsers.anyText) readonly authAudience?: string;
  /** URL of the provider's keys. Unset: as the provider's discovery document says. */
  @Variable('AUTH_JWKS_URL', parsers.secureUrl) readonly authJwksUrl?: string;
  /** Scope that a JSON Web Token must have. */
  @Variable('AUTH_SCOPE', parsers.scope, 'plants:create') readonly authScope!: string;

  /** Time in milliseconds for which a stopping service still serves, while others learn that it stops. */
  @Variable('SHUTDOWN_DELAY', parsers.duration('0s', '300s'), '0s') readonly shutdownDelay!: number;
  /** Maximum time in milliseconds of the rest of a stop. */
  @Variable('SHUTDOWN_TIMEOUT', parsers.duration('1s', '600s'), '25s')
  readonly shutdownTimeout!: number;

  /** Lowest severity that is logged. */
  @Variable('LOG_LEVEL', parsers.oneOf(...LOG_LEVELS), 'info')
  readonly logLevel!: (typeof LOG_LEVELS)[number];
  /** Which requests are logged. */
  @Variable('LOG_REQUESTS', parsers.oneOf('all', 'errors', 'none'), 'errors')
  readonly logRequests!: 'all' | 'errors' | 'none';

  /** Whether this is production: JSON logs, and no token at the first start. */
  @Variable('NODE_ENV', parsers.nodeEnv, 'development') readonly production!: boolean;

  /** The scheme of the service's URLs: `https` where it speaks TLS itself. */
  get scheme(): 'http' | 'https' {
    return this.tlsCertFile === undefined ? 'http' : 'https';
  }

  /** Milliseconds that a request waits for its token's lookup, and for its plant's commit. */
  get waitTimeoutMs(): number {
    return this.databaseTimeout / 2;
  }

  /** Milliseconds of a statement, or of connecting: it fails before the request that waits for it. */
  get statementTimeoutMs(): number {
    return 0.8 * this.waitTimeoutMs;
  }

  /** Sets the defaults; inspectConfig() sets the rest. */
  constructor() {
    for (const { field, parser, defaultText } of VARIABLES)
      if (defaultText) Object.assign(this, { [field]: parser.parse(defaultText) });
  }
}

/** Formats the host and the port of a URL: an IPv6 address stands in brackets (RFC 3986, section 3.2.2). */
export function formatAuthority(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Makes the URL of a listener of this machine; of one on all addresses, that of the loopback. */
export function toUrl(scheme: 'http' | 'https', host: string, port: number): URL {
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return new URL(`${scheme}://${formatAuthority(address, port)}`);
}

/** The user of this process: by its number if it has no name, as in some containers. */
export function describeUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}
