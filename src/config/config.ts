import { baseUrl, origins, proxies, secureUrl } from './address-parsers.js';
import {
  duration,
  environment,
  headerList,
  oneOf,
  onOff,
  port,
  portOrOff,
  rate,
  scope,
  size,
  storeUrl,
  text,
  type Rate,
} from './env-parsers.js';
import { maskPassword } from './store-address.js';
import { SecretVariable, Variable } from './variable.js';

/** The version of the service, that of package.json. */
export const VERSION = '1.0.0';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

const SECOND = 1_000;

/** The service's configuration: a field, its variable and its default. Read once, at the start. */
export class Config {
  /** TCP port that the service listens on; 0 takes a free one. */
  @Variable('PORT', port)
  readonly port: number = 3000;

  /** Address that the service listens on; the default is reached from this machine alone. */
  @Variable('HOST', text)
  readonly host: string = '127.0.0.1';

  /** Whether other processes may listen on the port too: the kernel shares connections out (Linux, SO_REUSEPORT). */
  @Variable('REUSE_PORT', onOff)
  readonly reusePort: boolean = false;

  /** TCP port of health and metrics; 0 takes a free one, `off` leaves them out. */
  @Variable('MANAGEMENT_PORT', portOrOff)
  readonly managementPort: number | 'off' = 9464;

  /** Address that health and metrics are at. */
  @Variable('MANAGEMENT_HOST', text)
  readonly managementHost: string = '127.0.0.1';

  /**
   * The store: `sqlite:` and the path of a file, which is made with its folder; or the address of a
   * PostgreSQL database.
   */
  @SecretVariable('DATABASE_URL', storeUrl, maskPassword)
  readonly databaseUrl: string = 'sqlite:./data/plant-store.sqlite';

  /** Milliseconds that a request waits for the store at most, all its lookups taken together. */
  @Variable('DATABASE_TIMEOUT', duration(SECOND, 60 * SECOND, '5s'))
  readonly databaseTimeout: number = 5 * SECOND;

  /** Whether the start brings the schema up to date; else `plant-store migrate` must have done it. */
  @Variable('MIGRATE', onOff)
  readonly migrate: boolean = true;

  /** Where clients reach the service: the server that the OpenAPI document names. */
  @Variable('PUBLIC_URL', baseUrl)
  readonly publicUrl?: string;

  /** Largest request body, in bytes; `kb` and `mb` behind the number multiply it. */
  @Variable('BODY_LIMIT', size)
  readonly bodyLimit: number = 64 * 1024;

  /** Requests that each token may make in a time; no limit if left out. */
  @Variable('RATE_LIMIT', rate)
  readonly rateLimit?: Rate;

  /** Whether the OpenAPI document and Swagger UI are served. */
  @Variable('DOCS', onOff)
  readonly docs: boolean = true;

  /** Origins whose pages may call the service from a browser (fetch.spec.whatwg.org, CORS). */
  @Variable('CORS_ORIGINS', origins)
  readonly corsOrigins: readonly string[] = [];

  /** The proxies whose `X-Forwarded-For` is believed. */
  @Variable('TRUST_PROXY', proxies)
  readonly trustProxy: number | readonly string[] | false = false;

  /** File of the certificate and its chain, in PEM: the service then speaks TLS. */
  @Variable('TLS_CERT_FILE', text)
  readonly tlsCertFile?: string;

  /** File of the certificate's private key, in PEM. */
  @Variable('TLS_KEY_FILE', text)
  readonly tlsKeyFile?: string;

  /** The identity provider whose JSON Web Tokens are taken, exactly as their `iss` names it. */
  @Variable('AUTH_ISSUER', secureUrl)
  readonly authIssuer?: string;

  /** What their `aud` must name: this service. */
  @Variable('AUTH_AUDIENCE', text)
  readonly authAudience?: string;

  /** Where the provider's keys are; found by its discovery document if left out. */
  @Variable('AUTH_JWKS_URL', secureUrl)
  readonly authJwksUrl?: string;

  /** The scope that a JSON Web Token must have. */
  @Variable('AUTH_SCOPE', scope)
  readonly authScope: string = 'plants:create';

  /** Milliseconds at a shutdown in which requests are still served, while others learn of it. */
  @Variable('SHUTDOWN_DELAY', duration(0, 300 * SECOND, '5s'))
  readonly shutdownDelay: number = 0;

  /** Milliseconds that a shutdown takes at most after that. */
  @Variable('SHUTDOWN_TIMEOUT', duration(SECOND, 600 * SECOND, '25s'))
  readonly shutdownTimeout: number = 25 * SECOND;

  /** The least severe lines that are logged. */
  @Variable('LOG_LEVEL', oneOf(...LOG_LEVELS))
  readonly logLevel: (typeof LOG_LEVELS)[number] = 'info';

  /** Which requests have a line in the log. */
  @Variable('LOG_REQUESTS', oneOf('all', 'errors', 'none'))
  readonly logRequests: 'all' | 'errors' | 'none' = 'errors';

  /** Where traces are sent: the base address of an OpenTelemetry collector (OTLP over HTTP). */
  @Variable('OTEL_EXPORTER_OTLP_ENDPOINT', baseUrl)
  readonly otlpEndpoint?: string;

  /** Headers that the collector requires, its access token most of all. */
  @SecretVariable('OTEL_EXPORTER_OTLP_HEADERS', headerList)
  readonly otlpHeaders: Readonly<Record<string, string>> = {};

  /** The service's name in traces. */
  @Variable('OTEL_SERVICE_NAME', text)
  readonly otelServiceName: string = 'plant-store';

  /** Whether this is production: logs are JSON then, and no token is made at the first start. */
  @Variable('NODE_ENV', environment)
  readonly production: boolean = false;
}
