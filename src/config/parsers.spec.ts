/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { Config } from './config.js';
import { readConfig } from './environment.js';
import { parseDuration } from './parsers.js';

describe('parseDuration', () => {
  it.each([
    ['45s', 45_000],
    ['30m', 1_800_000],
    ['12h', 43_200_000],
    ['90d', 7_776_000_000],
    ['2w', 1_209_600_000],
    ['99999w', 60_479_395_200_000],
  ])('reads %s', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(['', '90', 'd', '0d', '-1d', '1.5h', '1e3s', '90 d', '90D', '1y', '1d12h', '100000s'])(
    'refuses "%s"',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});

describe('readConfig, by the parsers of its variables,', () => {
  it.each([
    [{ PORT: '0' }, { port: 0 }],
    [{ PORT: '65535' }, { port: 65_535 }],
    [{ HOST: '::1' }, { host: '::1' }],
    [{ HOST: 'fe80::1%eth0' }, { host: 'fe80::1%eth0' }],
    [{ HOST: 'plant_store.example' }, { host: 'plant_store.example' }],
    [{ DATABASE_URL: 'sqlite:/a b/c' }, { databaseUrl: 'sqlite:/a b/c' }],
    [
      { DATABASE_URL: 'postgres://u:p@h:5432/plants?sslmode=verify-full', DOCS: 'on' },
      { databaseUrl: 'postgres://u:p@h:5432/plants?sslmode=verify-full', docs: true },
    ],
    [
      { DATABASE_URL: 'postgres://h/plants?sslmode=require&options=-c%20x%3Dy' },
      { databaseUrl: 'postgres://h/plants?sslmode=verify-full&options=-c%20x%3Dy' },
    ],
    [
      { DATABASE_URL: 'postgres://h/plants?uselibpqcompat=true&sslmode=require' },
      { databaseUrl: 'postgres://h/plants?uselibpqcompat=true&sslmode=require' },
    ],
    [{ DATABASE_URL: 'postgresql:///plants' }, { databaseUrl: 'postgresql:///plants' }],
    [{ DATABASE_TIMEOUT: '1s' }, { databaseTimeout: 1_000 }],
    [{ DATABASE_TIMEOUT: '1m' }, { databaseTimeout: 60_000 }],
    [{ MIGRATE: 'off' }, { migrate: false }],
    [{ DOCS: 'off' }, { docs: false }],
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
      { AUTH_ISSUER: 'https://id.example/', AUTH_AUDIENCE: 'plants', AUTH_SCOPE: 'x' },
      { authIssuer: 'https://id.example/', authAudience: 'plants', authScope: 'x' },
    ],
    [
      {
        AUTH_ISSUER: 'https://id.example/',
        AUTH_AUDIENCE: 'plants',
        AUTH_JWKS_URL: 'http://127.0.0.1:8080/jwks',
      },
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
  ])('reads %j', (env, fields) => {
    expect(readConfig(env)).toEqual(Object.assign(new Config(), fields));
  });

  it.each([
    ['PORT', ['-1', '65536', '1.5', 'x', '80 81', 'Infinity']],
    [
      'DATABASE_URL',
      [
        'mysql://secret',
        '/an/absolute/path',
        'x',
        'postgres://h/a%zz',
        'postgres://u:1/SECRET@h/plants',
        'postgres://u:1?SECRET@h/plants',
        'postgres://u:1#SECRET@h/plants',
        'sqlite: a',
        'sqlite:a ',
        'sqlite://a/b',
      ],
    ],
    ['HOST', ['localhost:80', '[::1]', '127.0.0.1:80', 'http://localhost', 'a b', '10.0.0.0/8']],
    ['MANAGEMENT_HOST', ['localhost:80']],
    ['DATABASE_TIMEOUT', ['0s', '5', '999s', '61s', '2m', 'x']],
    ['MIGRATE', ['true', 'ON', 'x']],
    ['DOCS', ['true', 'ON', '1']],
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
  ])('refuses %s from each of %j', (name, values) => {
    for (const value of values) {
      const problem = new RegExp(`^${name} must be .+ \\(from environment\\)$`);
      expect(() => readConfig({ [name]: value })).toThrow(problem);
    }
  });
});
