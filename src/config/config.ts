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

/** The commit that the service was built from. */
export const COMMIT = process.env.GIT_COMMIT || 'unknown';

/** How the operator called the command: bin/plant-store sets the variable. */
export const COMMAND = process.env.PLANT_STORE_COMMAND ?? 'bin/plant-store';

export interface Variable<Value> {
  readonly name: string;
  readonly parser: parsers.EnvParser<Value>;
  /** The default as text; '' for none. */
  readonly defaultText: string;
}

function withDefault<Value>(name: string, parser: parsers.EnvParser<Value>, defaultText: string) {
  return { name, parser, defaultText } satisfies Variable<Value>;
}

function optional<Value>(name: string, parser: parsers.EnvParser<Value>) {
  return withDefault<Value | undefined>(name, parser, '');
}

/** The variable and the default of each field of {@link Config}. */
export const VARIABLES = {
  /** TCP port of the service. 0 takes a free one. */
  port: withDefault('PORT', parsers.port, '3000'),
  /** Address that the service listens on. The default is reachable from this machine only. */
  host: withDefault('HOST', parsers.host, '127.0.0.1'),
  /** TCP port of health and metrics. 0 takes a free one; `off` serves neither. */
  managementPort: withDefault('MANAGEMENT_PORT', parsers.portOrOff, '9464'),
  /** Address of health and metrics. */
  managementHost: withDefault('MANAGEMENT_HOST', parsers.host, '127.0.0.1'),

  /** The store: `sqlite:` and the path of a file, created with its folder, or the address of a PostgreSQL database. */
  databaseUrl: withDefault('DATABASE_URL', databaseUrl, 'sqlite:./data/plant-store.sqlite'),
  /** Maximum time in milliseconds that a request waits for the store, all its statements together. */
  databaseTimeout: withDefault('DATABASE_TIMEOUT', parsers.duration('1s', '60s'), '5s'),
  /** Whether the start migrates the schema. If not, `plant-store migrate` must have done it. */
  migrate: withDefault('MIGRATE', parsers.onOff, 'on'),

  /** Where clients reach the service: the server that the OpenAPI document names. Unset: where it listens. */
  publicUrl: optional('PUBLIC_URL', parsers.baseUrl),
  /** Maximum number of requests of a token in a time. Unset: unlimited. */
  rateLimit: optional('RATE_LIMIT', parsers.rate),
  /** Whether the OpenAPI document and Swagger UI are served. */
  docs: withDefault('DOCS', parsers.onOff, 'on'),
  /** Origins whose pages may call the service from a browser (fetch.spec.whatwg.org, CORS). Unset: none. */
  corsOrigins: optional('CORS_ORIGINS', parsers.origins),
  /** Proxies whose `X-Forwarded-For` is believed: their number, or their addresses. */
  trustProxy: withDefault('TRUST_PROXY', parsers.proxies, 'off'),

  /** File of the certificate and its chain, in PEM. If set, the service speaks TLS only. */
  tlsCertFile: optional('TLS_CERT_FILE', parsers.anyText),
  /** File of the certificate's private key, in PEM. */
  tlsKeyFile: optional('TLS_KEY_FILE', parsers.anyText),

  /** Identity provider whose JSON Web Tokens are accepted, exactly as in their `iss`. Unset: none are. */
  authIssuer: optional('AUTH_ISSUER', parsers.secureUrl),
  /** What the `aud` of a JSON Web Token must name. */
  authAudience: optional('AUTH_AUDIENCE', parsers.anyText),
  /** URL of the provider's keys. Unset: as the provider's discovery document says. */
  authJwksUrl: optional('AUTH_JWKS_URL', parsers.secureUrl),
  /** What the identity provider calls the scope `plants:create`. */
  authScope: withDefault('AUTH_SCOPE', parsers.scope, 'plants:create'),

  /** Time in milliseconds for which a stopping service still serves, while others learn that it stops. */
  shutdownDelay: withDefault('SHUTDOWN_DELAY', parsers.duration('0s', '300s'), '0s'),
  /** Maximum time in milliseconds of the rest of a stop. */
  shutdownTimeout: withDefault('SHUTDOWN_TIMEOUT', parsers.duration('1s', '600s'), '25s'),

  /** Lowest severity that is logged. */
  logLevel: withDefault('LOG_LEVEL', parsers.logLevel, 'info'),
  /** Which requests are logged. */
  logRequests: withDefault('LOG_REQUESTS', parsers.oneOf('all', 'errors', 'none'), 'errors'),

  /** Whether this is production: JSON logs, and no token at the first start. */
  production: withDefault('NODE_ENV', parsers.nodeEnv, 'development'),
};

type Variables = typeof VARIABLES;
type Values = {
  readonly [Field in keyof Variables]: Variables[Field] extends Variable<infer Value>
    ? Value
    : never;
};

/** A class with a field for each variable. */
const Fields = class {
  constructor() {
    for (const [field, { parser, defaultText }] of Object.entries(VARIABLES))
      if (defaultText) Object.assign(this, { [field]: parser.parse(defaultText) });
  }
} as new () => Values;

/** The service's configuration: by default, until inspectConfig() sets its fields. None changes while the service runs. */
export class Config extends Fields {
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
}

/** Formats the URL of a listener for clients. */
export function formatUrl(scheme: 'http' | 'https', host: string, port: number): string {
  // No client can connect to the address that stands for all addresses of the machine.
  const name = /^(0\.0\.0\.0|::)$/.test(host) ? 'localhost' : host;
  // An IPv6 address stands in brackets (RFC 3986, section 3.2.2).
  return `${scheme}://${isIPv6(name) ? `[${name}]` : name}:${port}`;
}

/** The user of this process: by its number if it has no name, as in some containers. */
export function describeUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}

/** The end of a message: commands that root runs are the service's user. */
export function describeDenied(code: string | undefined): string {
  return code === 'EACCES' ? ` for user ${describeUser()}` : '';
}
