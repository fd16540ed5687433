import {
  anyText,
  baseUrl,
  headerList,
  makeDurationParser,
  makeWordParser,
  nodeEnv,
  onOff,
  origins,
  port,
  portOrOff,
  proxies,
  rate,
  scope,
  secureUrl,
  size,
  storeUrl,
  type EnvParser,
  type Rate,
} from './parsers.js';

/** The version of the service, as in package.json. */
export const VERSION = '1.0.0';

/** An environment variable, the field of {@link Config} that it sets, and how its text is read. */
export interface ConfigVariable {
  readonly name: string;
  readonly field: keyof Config;
  readonly parser: EnvParser<unknown>;
}

/** Every environment variable of {@link Config}, in its order. (Systemd, the driver and OpenTelemetry have others.) */
export const VARIABLES: ConfigVariable[] = [];

/** The fields that can have a value of this type. */
type FieldFor<Value> = {
  [Field in keyof Config]-?: Value extends Config[Field] ? Field : never;
}[keyof Config];

function Variable<Value>(name: string, parser: EnvParser<Value>) {
  return (_config: Config, field: FieldFor<Value>) => void VARIABLES.push({ name, field, parser });
}

/** The service's configuration: for each field its variable and its default. No field changes while the service runs. */
export class Config {
  /** TCP port of the service. 0 takes a free one. */
  @Variable('PORT', port)
  readonly port: number = 3000;

  /** Address that the service listens on. The default is reachable from this machine only. */
  @Variable('HOST', anyText)
  readonly host: string = '127.0.0.1';

  /** Whether other processes may listen on the port too: the kernel shares connections out (Linux, SO_REUSEPORT). */
  @Variable('REUSE_PORT', onOff)
  readonly reusePort: boolean = false;

  /** TCP port of health and metrics. 0 takes a free one; `off` serves neither. */
  @Variable('MANAGEMENT_PORT', portOrOff)
  readonly managementPort: number | 'off' = 9464;

  /** Address of health and metrics. */
  @Variable('MANAGEMENT_HOST', anyText)
  readonly managementHost: string = '127.0.0.1';

  /** The store: `sqlite:` and the path of a file, created with its folder, or the address of a PostgreSQL database. */
  @Variable('DATABASE_URL', storeUrl)
  readonly databaseUrl: string = 'sqlite:./data/plant-store.sqlite';

  /** Maximum time in milliseconds that a request waits for the store, all its statements together. */
  @Variable('DATABASE_TIMEOUT', makeDurationParser('1s', '60s'))
  readonly databaseTimeout: number = 5_000;

  /** Whether the start migrates the schema. If not, `plant-store migrate` must have done it. */
  @Variable('MIGRATE', onOff)
  readonly migrate: boolean = true;

  /** Where clients reach the service: the server that the OpenAPI document names. Unset: where it listens. */
  @Variable('PUBLIC_URL', baseUrl)
  readonly publicUrl?: string;

  /** Maximum size of a request body in bytes. */
  @Variable('BODY_LIMIT', size)
  readonly bodyLimit: number = 64 * 1024;

  /** Maximum number of requests of a token in a time. Unset: unlimited. */
  @Variable('RATE_LIMIT', rate)
  readonly rateLimit?: Rate;

  /** Whether the OpenAPI document and Swagger UI are served. */
  @Variable('DOCS', onOff)
  readonly docs: boolean = true;

  /** Origins whose pages may call the service from a browser (fetch.spec.whatwg.org, CORS). Empty: none. */
  @Variable('CORS_ORIGINS', origins)
  readonly corsOrigins: readonly string[] = [];

  /** Proxies whose `X-Forwarded-For` is believed: their number, or their addresses. */
  @Variable('TRUST_PROXY', proxies)
  readonly trustProxy: number | readonly string[] | false = false;

  /** File of the certificate and its chain, in PEM. If set, the service speaks TLS only. */
  @Variable('TLS_CERT_FILE', anyText)
  readonly tlsCertFile?: string;

  /** File of the certificate's private key, in PEM. */
  @Variable('TLS_KEY_FILE', anyText)
  readonly tlsKeyFile?: string;

  /** Identity provider whose JSON Web Tokens are accepted, exactly as in their `iss`. Unset: none are. */
  @Variable('AUTH_ISSUER', secureUrl)
  readonly authIssuer?: string;

  /** What the `aud` of a JSON Web Token must name. */
  @Variable('AUTH_AUDIENCE', anyText)
  readonly authAudience?: string;

  /** URL of the provider's keys. Unset: as the provider's discovery document says. */
  @Variable('AUTH_JWKS_URL', secureUrl)
  readonly authJwksUrl?: string;

  /** Scope that a JSON Web Token must have. */
  @Variable('AUTH_SCOPE', scope)
  readonly authScope: string = 'plants:create';

  /** Time in milliseconds for which a stopping service still serves, while others learn that it stops. */
  @Variable('SHUTDOWN_DELAY', makeDurationParser('0s', '300s'))
  readonly shutdownDelay: number = 0;

  /** Maximum time in milliseconds of the rest of a stop. */
  @Variable('SHUTDOWN_TIMEOUT', makeDurationParser('1s', '600s'))
  readonly shutdownTimeout: number = 25_000;

  /** Lowest severity that is logged. */
  @Variable('LOG_LEVEL', makeWordParser('fatal', 'error', 'warn', 'info', 'debug', 'trace'))
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' = 'info';

  /** Which requests are logged. */
  @Variable('LOG_REQUESTS', makeWordParser('all', 'errors', 'none'))
  readonly logRequests: 'all' | 'errors' | 'none' = 'errors';

  /** Base URL of an OpenTelemetry collector (OTLP over HTTP). Unset: no traces. */
  @Variable('OTEL_EXPORTER_OTLP_ENDPOINT', baseUrl)
  readonly otlpEndpoint?: string;

  /** Headers that the collector requires, such as its access token. */
  @Variable('OTEL_EXPORTER_OTLP_HEADERS', headerList)
  readonly otlpHeaders: Readonly<Record<string, string>> = {};

  /** The service's name in traces. */
  @Variable('OTEL_SERVICE_NAME', anyText)
  readonly otelServiceName: string = 'plant-store';

  /** Whether this is production: JSON logs, and no token at the first start. */
  @Variable('NODE_ENV', nodeEnv)
  readonly production: boolean = false;
}
