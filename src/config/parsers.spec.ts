/** @engine sqlite */
import os from 'node:os';
import { describe, expect, it, jest } from '@jest/globals';
import { Config } from './config.js';
import { readConfig } from './environment.js';
import { parseDuration } from './parsers.js';

it('parseDuration reads a whole number and its unit', () => {
  const durations = ['0s', '45s', '30m', '12h', '90d', '99999w'];
  expect(durations.map(parseDuration)).toEqual([0, 45e3, 18e5, 432e5, 7776e6, 604793952e5]);
  for (const text of ',90,d,0d,-1d,1.5h,1e3s,90 d,90D,1y,1d12h,100000s'.split(','))
    expect(parseDuration(text)).toBeUndefined();
});

const POSTGRES = 'postgres://u:p@h:5432/plants?sslmode=verify-full';
const REQUIRED = POSTGRES.replace('verify-full', 'require&port=1');
const MISTYPED = 'postgres://h/plants?sslmode=requier&sslmode=';
const STRICT = 'postgres://h/plants?sslmode=verify-full&sslmode=verify-full';

describe('readConfig, by the parsers of its variables,', () => {
  it.each<[name: keyof Config, env: string, value: unknown]>([
    ['port', 'PORT=65535', 65_535],
    ['host', 'HOST=::1', '::1'],
    ['host', 'HOST=fe80::1%eth0', 'fe80::1%eth0'],
    ['host', 'HOST=plant_store.example', 'plant_store.example'],
    ['databaseUrl', 'DATABASE_URL=sqlite:/a b/c', 'sqlite:/a b/c'],
    ['databaseUrl', `DATABASE_URL=${POSTGRES}`, POSTGRES],
    ['databaseUrl', `DATABASE_URL=${REQUIRED}`, `${POSTGRES}&port=1`],
    ['databaseUrl', `DATABASE_URL=${MISTYPED}`, STRICT],
    ['databaseUrl', 'DATABASE_URL=postgresql:///plants', 'postgresql:///plants'],
    ['databaseTimeout', 'DATABASE_TIMEOUT=1s', 1_000],
    ['databaseTimeout', 'DATABASE_TIMEOUT=1m', 60_000],
    ['publicUrl', 'PUBLIC_URL=http://localhost:3000/', 'http://localhost:3000'],
    ['rateLimit', 'RATE_LIMIT=1/m', { requests: 1, seconds: 60 }],
    ['rateLimit', 'RATE_LIMIT=1000000/h', { requests: 1_000_000, seconds: 3_600 }],
    ['corsOrigins', 'CORS_ORIGINS=https://a.b, http://c:8080', ['https://a.b', 'http://c:8080']],
    ['corsOrigins', 'CORS_ORIGINS=http://[::1]:8080', ['http://[::1]:8080']],
    ['corsOrigins', 'CORS_ORIGINS=http://127.0.0.1,http://a_b', ['http://127.0.0.1', 'http://a_b']],
    ['trustProxy', 'TRUST_PROXY=loopback,10.0.0.0/8', ['loopback', '10.0.0.0/8']],
    ['trustProxy', 'TRUST_PROXY=fd00::/8, 192.0.2.7', ['fd00::/8', '192.0.2.7']],
    ['authScope', 'AUTH_SCOPE=plants.create', 'plants.create'],
    ['shutdownDelay', 'SHUTDOWN_DELAY=5m', 300_000],
    ['shutdownTimeout', 'SHUTDOWN_TIMEOUT=1s', 1_000],
    ['production', 'NODE_ENV=test', false],
  ])('sets %s by %s', (field, assignment, value) => {
    const [, name = '', text] = /^(\w+)=(.*)$/.exec(assignment) ?? [];
    expect(readConfig({ [name]: text })).toEqual(Object.assign(new Config(), { [field]: value }));
  });

  it.each([
    ['IPv6', '::'],
    ['IPv4', '0.0.0.0'],
  ] as const)('takes :: for all addresses of a machine with %s', (family, address) => {
    const found = [{ family }] as os.NetworkInterfaceInfo[];
    const list = jest.spyOn(os, 'networkInterfaces').mockReturnValue({ lo: found });
    expect(readConfig({ MANAGEMENT_HOST: '::' }).managementHost).toBe(address);
    list.mockRestore();
  });

  it('takes plain http from an identity provider on this machine', () => {
    const env = { AUTH_ISSUER: 'http://localhost:1', AUTH_AUDIENCE: 'plants' };
    expect(readConfig(env).authIssuer).toBe('http://localhost:1');
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
        'postgres://u:a%2Fb@h/a?options=-c a=b',
      ],
    ],
    ['DATABASE_URL', ['postgres://u:1/SECRET@h/plants', 'postgres://u:1?SECRET@h/plants']],
    ['DATABASE_URL', ['postgres://u:1#SECRET@h/plants', 'sqlite:']],
    ['DATABASE_URL', ['postgres://h', 'postgres://u:p@h:5432/', 'postgres://']],
    ['DATABASE_URL', ['sqlite: a', 'sqlite:a ', 'sqlite://a/b']],
    ['HOST', ['localhost:80', '[::1]', '127.0.0.1:80', 'http://localhost', 'a b', '10.0.0.0/8']],
    ['MANAGEMENT_HOST', ['localhost:80']],
    ['DATABASE_TIMEOUT', ['0s', '5', '999s', '61s', '2m', 'x']],
    ['MIGRATE', ['true', 'ON', 'x']],
    ['DOCS', ['true', 'ON', '1', 'toString', '__proto__', 'constructor']],
    ['PUBLIC_URL', ['https://*.example', 'x', 'plants.example', 'ftp://plants.example', '/v1']],
    ['MANAGEMENT_PORT', ['-1', '65536', 'OFF', 'x']],
    ['RATE_LIMIT', ['200', '0/s', '1000001/s', '1.5/s', '1/d', '/s', 'x']],
    ['CORS_ORIGINS', ['*', 'null', 'https://a.example/', 'a.example', 'https://a.example,', ',']],
    ['CORS_ORIGINS', ['https://*.example', 'https://*', 'http://*:8080', 'https://{a}.example']],
    ['CORS_ORIGINS', ['https://a.example/b', 'https://A.example', 'HTTPS://a.example']],
    ['CORS_ORIGINS', ['https://a.example:443', 'http://a.example:80', 'https://a.example:']],
    ['CORS_ORIGINS', ['file://', 'https://u@a.example', 'https://a.example?', 'https://ä.example']],
    ['TRUST_PROXY', ['on', '0', '17', '10.0.0.0/33', '10.0.0.0/0', '10.0.0.0/8/8', 'x']],
    ['AUTH_ISSUER', ['x', 'http://id.example', 'https://:p@id.example', 'https://id.example?x']],
    ['AUTH_ISSUER', ['http://localhost.example', 'http://127.example', 'http://127.0.0.1.example']],
    ['AUTH_ISSUER', ['https://u@id.example', 'https://u:p@id.example']],
    ['AUTH_JWKS_URL', ['x', 'http://id.example/jwks', 'file:///jwks']],
    ['AUTH_SCOPE', ['"', 'a"b', 'a\\b', '\u00e9', 'a\tb']],
    ['SHUTDOWN_DELAY', ['0', '301s', '1h', 'x']],
    ['SHUTDOWN_TIMEOUT', ['0s', '601s', 'x']],
    ['LOG_LEVEL', ['log', 'INFO', 'x']],
    ['LOG_REQUESTS', ['on', 'ALL', 'x']],
    ['NODE_ENV', ['prod', 'staging', 'Production']],
  ])('refuses %s from each of %j', (name, values) => {
    for (const value of values) {
      const problem = new RegExp(`^${name} must be .+ \\(from environment\\)$`);
      const env = { [name]: value, ...(name === 'AUTH_ISSUER' && { AUTH_AUDIENCE: 'x' }) };
      expect(() => readConfig(env)).toThrow(problem);
    }
  });
});
