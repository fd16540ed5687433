/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { readConfig } from './read-config.js';
import { ConfigError, VARIABLES } from './variable.js';

const DEFAULTS = {
  port: 3000,
  host: '127.0.0.1',
  databaseUrl: 'sqlite:./data/plant-store.sqlite',
  databaseTimeout: 5_000,
  migrate: true,
  reusePort: false,
  managementPort: 9464,
  managementHost: '127.0.0.1',
  bodyLimit: 65_536,
  docs: true,
  corsOrigins: [],
  trustProxy: false,
  authScope: 'plants:create',
  shutdownDelay: 0,
  shutdownTimeout: 25_000,
  logLevel: 'info',
  logRequests: 'errors',
  otlpHeaders: {},
  otelServiceName: 'plant-store',
  production: false,
};
const ISSUER = { AUTH_ISSUER: 'https://id.example/' };

/** The message of the error that an environment causes. */
function problemsWith(env: NodeJS.ProcessEnv): string {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return '';
}

describe('readConfig', () => {
  it('has a default for everything', () => {
    expect(readConfig({})).toEqual(DEFAULTS);
  });

  it('takes an empty variable for one that is not set', () => {
    const names = VARIABLES.flatMap(({ name }) => [name, `${name}_FILE`]);
    expect(readConfig(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(DEFAULTS);
  });

  it.each([
    [{ PORT: '0' }, { port: 0 }],
    [{ PORT: '65535' }, { port: 65_535 }],
    [{ HOST: '::1' }, { host: '::1' }],
    [{ DATABASE_URL: 'sqlite:/a b/c' }, { databaseUrl: 'sqlite:/a b/c' }],
    [
      { DATABASE_URL: 'postgres://u:p@h:5432/plants?sslmode=verify-full', REUSE_PORT: 'on' },
      { databaseUrl: 'postgres://u:p@h:5432/plants?sslmode=verify-full', reusePort: true },
    ],
    [{ DATABASE_URL: 'postgresql:///plants' }, { databaseUrl: 'postgresql:///plants' }],
    [{ DATABASE_TIMEOUT: '1s' }, { databaseTimeout: 1_000 }],
    [{ DATABASE_TIMEOUT: '1m' }, { databaseTimeout: 60_000 }],
    [{ MIGRATE: 'off' }, { migrate: false }],
    [{ REUSE_PORT: 'off' }, { reusePort: false }],
    [{ PUBLIC_URL: 'http://localhost:3000' }, { publicUrl: 'http://localhost:3000' }],
    [{ PUBLIC_URL: 'https://plants.example/v1' }, { publicUrl: 'https://plants.example/v1' }],
    [{ BODY_LIMIT: '1' }, { bodyLimit: 1 }],
    [{ BODY_LIMIT: '64kb' }, { bodyLimit: 65_536 }],
    [{ BODY_LIMIT: '1MB' }, { bodyLimit: 2 ** 20 }],
    [{ DOCS: 'off' }, { docs: false }],
    [{ DOCS: 'on' }, { docs: true }],
    [{ MANAGEMENT_PORT: 'off' }, { managementPort: 'off' }],
    [
      { MANAGEMENT_PORT: '0', PORT: '0' },
      { managementPort: 0, port: 0 },
    ],
    [{ MANAGEMENT_HOST: '::' }, { managementHost: '::' }],
    [{ RATE_LIMIT: '200/s' }, { rateLimit: { requests: 200, seconds: 1 } }],
    [{ RATE_LIMIT: '1/m' }, { rateLimit: { requests: 1, seconds: 60 } }],
    [{ RATE_LIMIT: '1000000/h' }, { rateLimit: { requests: 1_000_000, seconds: 3_600 } }],
    [
      { CORS_ORIGINS: 'https://a.example, http://localhost:8080' },
      { corsOrigins: ['https://a.example', 'http://localhost:8080'] },
    ],
    [{ TRUST_PROXY: '1' }, { trustProxy: 1 }],
    [
      { TRUST_PROXY: 'loopback,10.0.0.0/8, fd00::/8,192.0.2.7' },
      { trustProxy: ['loopback', '10.0.0.0/8', 'fd00::/8', '192.0.2.7'] },
    ],
    [
      { TLS_CERT_FILE: 'a.pem', TLS_KEY_FILE: 'b.pem' },
      { tlsCertFile: 'a.pem', tlsKeyFile: 'b.pem' },
    ],
    [
      { ...ISSUER, AUTH_AUDIENCE: 'plants', AUTH_SCOPE: 'x' },
      { authIssuer: 'https://id.example/', authAudience: 'plants', authScope: 'x' },
    ],
    [
      { ...ISSUER, AUTH_AUDIENCE: 'plants', AUTH_JWKS_URL: 'http://127.0.0.1:8080/jwks' },
      {
        authIssuer: 'https://id.example/',
        authAudience: 'plants',
        authJwksUrl: 'http://127.0.0.1:8080/jwks',
      },
    ],
    [
      { SHUTDOWN_DELAY: '0s', SHUTDOWN_TIMEOUT: '1s' },
      { shutdownDelay: 0, shutdownTimeout: 1_000 },
    ],
    [
      { SHUTDOWN_DELAY: '5m', SHUTDOWN_TIMEOUT: '10m' },
      { shutdownDelay: 300_000, shutdownTimeout: 600_000 },
    ],
    [
      { AUTH_ISSUER: 'http://127.0.0.1:1', AUTH_AUDIENCE: 'plants' },
      { authIssuer: 'http://127.0.0.1:1', authAudience: 'plants' },
    ],
    [{ AUTH_SCOPE: 'plants.create' }, { authScope: 'plants.create' }],
    [{ LOG_LEVEL: 'trace' }, { logLevel: 'trace' }],
    [{ LOG_REQUESTS: 'all' }, { logRequests: 'all' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318/' }, { otlpEndpoint: 'http://otel:4318' }],
    [
      { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a=b, x-team = plants' },
      { otlpHeaders: { authorization: 'Bearer a=b', 'x-team': 'plants' } },
    ],
    [{ OTEL_SERVICE_NAME: 'x' }, { otelServiceName: 'x' }],
    [{ NODE_ENV: 'production' }, { production: true }],
    [{ NODE_ENV: 'development' }, { production: false }],
    [{ NODE_ENV: 'test' }, { production: false }],
  ])('%j', (env, fields) => {
    expect(readConfig(env)).toEqual({ ...DEFAULTS, ...fields });
  });

  it.each([
    ['PORT', ['-1', '65536', '1.5', 'x', '80 81', 'Infinity']],
    [
      'DATABASE_URL',
      [
        'mysql://secret',
        '/an/absolute/path',
        'x',
        'postgres://h',
        'postgres://h/',
        'postgres://h/a%zz',
        'sqlite: a',
        'sqlite:a ',
        'sqlite://a/b',
      ],
    ],
    ['DATABASE_TIMEOUT', ['0s', '5', '999s', '61s', '2m', 'x']],
    ['MIGRATE', ['true', 'ON', 'x']],
    ['REUSE_PORT', ['true', 'ON', '1']],
    ['PUBLIC_URL', ['x', 'plants.example', 'ftp://plants.example', '/v1']],
    ['BODY_LIMIT', ['0', '-1', '1.5kb', '64 kb', 'kb', '2mb', '1gb', 'x']],
    ['DOCS', ['true', 'ON', '1', 'x']],
    ['MANAGEMENT_PORT', ['-1', '65536', 'OFF', 'x']],
    ['RATE_LIMIT', ['200', '0/s', '1000001/s', '1.5/s', '1/d', '/s', 'x']],
    ['CORS_ORIGINS', ['*', 'null', 'https://a.example/', 'a.example', 'https://a.example,', ',']],
    ['TRUST_PROXY', ['on', '0', '17', '10.0.0.0/33', '10.0.0.0/0', '10.0.0.0/8/8', 'x']],
    ['AUTH_ISSUER', ['x', 'http://id.example', 'https://u:p@id.example', 'https://id.example?x']],
    ['AUTH_ISSUER', ['http://localhost.example', 'http://127.example', 'http://127.0.0.1.example']],
    ['AUTH_JWKS_URL', ['x', 'http://id.example/jwks', 'file:///jwks']],
    ['AUTH_SCOPE', ['"', 'a"b', 'a\\b', '\u00e9', 'a\tb']],
    ['SHUTDOWN_DELAY', ['0', '301s', '1h', 'x']],
    ['SHUTDOWN_TIMEOUT', ['0s', '601s', 'x']],
    ['LOG_LEVEL', ['log', 'INFO', 'x']],
    ['LOG_REQUESTS', ['on', 'ALL', 'x']],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', ['x', 'grpc://otel:4317']],
    ['NODE_ENV', ['prod', 'staging', 'Production']],
    ['OTEL_EXPORTER_OTLP_HEADERS', ['x', 'x=', '=x', 'x=%', 'a=b,', 'a b=c', 'a=%0d%0Ab']],
  ])('%s is never %j', (name, values) => {
    for (const value of values) {
      const problems = problemsWith({ [name]: value });
      expect(problems).toMatch(new RegExp(`^${name} must be .+ \\(from environment\\)$`));
    }
  });

  it('names an invalid value, unless it is or may have a secret', () => {
    expect(problemsWith({ PORT: '80 81' })).toBe(
      'PORT must be from 0 to 65535, not "80 81" (from environment)',
    );
    const secret = 's3cr3t';
    const values = [`postgres://u:${secret}@h`, `https://u:${secret}@h`, `https://h?k=${secret}`];
    for (const value of [...values, `plant_${secret}`, `${secret}${'x'.repeat(80)}\n`]) {
      for (const { name } of VARIABLES)
        expect(problemsWith({ [name]: value })).not.toContain(secret);
    }
    for (const name of ['DATABASE_URL', 'OTEL_EXPORTER_OTLP_HEADERS']) {
      expect(problemsWith({ [name]: secret })).toMatch(/^\w+ must be [^]+ \(from environment\)$/);
      expect(problemsWith({ [name]: secret })).not.toContain(secret);
    }
  });

  it('DATABASE_URL is never without a path', () => {
    expect(problemsWith({ DATABASE_URL: 'sqlite:' })).toBe(
      'DATABASE_URL must be sqlite: and the path of a file, or postgres://user:password@host/database (from environment)',
    );
  });

  it.each([
    [{ PORT: '80', MANAGEMENT_PORT: '80' }, /^MANAGEMENT_PORT must not be PORT: /],
    [{ REUSE_PORT: 'on' }, /^REUSE_PORT=on needs DATABASE_URL to name PostgreSQL: /],
    [
      { REUSE_PORT: 'on', PORT: '0', DATABASE_URL: 'postgres://h/plants' },
      /^REUSE_PORT=on needs a PORT that is not 0: /,
    ],
    [{ TLS_CERT_FILE: 'x' }, /^TLS_CERT_FILE and TLS_KEY_FILE must be set together$/],
    [{ TLS_KEY_FILE: 'x' }, /^TLS_CERT_FILE and TLS_KEY_FILE must be set together$/],
    [ISSUER, /^AUTH_AUDIENCE must be set with AUTH_ISSUER: /],
    [{ AUTH_AUDIENCE: 'x' }, /^AUTH_ISSUER must be set with AUTH_AUDIENCE and AUTH_JWKS_URL$/],
    [{ AUTH_JWKS_URL: 'https://x' }, /^AUTH_ISSUER must be set with AUTH_AUDIENCE and /],
  ])('%j does not go together', (env, problem) => {
    expect(problemsWith(env)).toMatch(problem);
  });

  it('lists every problem, one a line', () => {
    expect(problemsWith({ PORT: 'x', DOCS: 'x', LOG_LEVEL: 'x' }).split('\n')).toEqual([
      expect.stringMatching(/^PORT must be /),
      'DOCS must be on or off, not "x" (from environment)',
      expect.stringMatching(
        /^LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, not /,
      ),
    ]);
  });

  it.each(['toString', '__proto__', 'constructor'])('DOCS=%s is no value either', (value) => {
    expect(problemsWith({ DOCS: value })).toMatch(/^DOCS must be on or off, not "/);
  });
});
