/** @engine sqlite */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Config, VARIABLES } from './config.js';
import { ConfigError, readConfig } from './environment.js';

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
  it('ignores empty variables', () => {
    const names = VARIABLES.flatMap(({ name }) => [name, `${name}_FILE`]);
    expect(readConfig(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(new Config());
  });

  it('shows an invalid value, unless it may contain a secret', () => {
    expect(problemsWith({ PORT: '80 81' })).toBe(
      'PORT must be from 0 to 65535, not "80 81" (from environment)',
    );
    const secret = 's3cr3t';
    const values = [`postgres://u:${secret}@h`, `https://u:${secret}@h`, `https://h?k=${secret}`];
    for (const value of [...values, `plant_${secret}`, `${secret}${'x'.repeat(80)}\n`]) {
      for (const { name } of VARIABLES)
        expect(problemsWith({ [name]: value })).not.toContain(secret);
    }
    for (const name of ['DATABASE_URL', 'OTEL_EXPORTER_OTLP_HEADERS'])
      expect(problemsWith({ [name]: secret })).toMatch(/^(?!.*s3cr3t)\w+ must be /);
  });

  it.each([
    [{ PORT: '80', MANAGEMENT_PORT: '80' }, /^MANAGEMENT_PORT must not be PORT: /],
    [{ DATABASE_URL: 'postgres://h/plants?sslmod=x' }, /^DATABASE_URL has an unknown .* sslmod$/],
    [{ TLS_CERT_FILE: 'x' }, /^TLS_CERT_FILE and TLS_KEY_FILE must be set together$/],
    [ISSUER, /^AUTH_AUDIENCE must be set with AUTH_ISSUER: /],
    [{ AUTH_AUDIENCE: 'x' }, /^AUTH_ISSUER must be set with AUTH_AUDIENCE and AUTH_JWKS_URL$/],
    [{ AUTH_JWKS_URL: 'https://x' }, /^AUTH_ISSUER must be set with AUTH_AUDIENCE and /],
  ])('refuses %j', (env, problem) => {
    expect(problemsWith(env)).toMatch(problem);
  });

  it('finds no conflict with the default of an invalid variable', () => {
    expect(problemsWith({ AUTH_ISSUER: 'http://id.example', AUTH_AUDIENCE: 'x' })).toMatch(
      /^AUTH_ISSUER must be [^\n]+$/,
    );
  });
});

const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(text: string): string {
  const path = join(folder, 'secret');
  writeFileSync(path, text);
  return path;
}

describe('DATABASE_URL_FILE', () => {
  it.each(['sqlite:x', 'sqlite:x\n', 'sqlite:x\r\n'])('is read: %j', (text) => {
    const { databaseUrl } = readConfig({ DATABASE_URL_FILE: file(text) });
    expect(databaseUrl).toBe('sqlite:x');
  });

  it.each([
    ['', 'DATABASE_URL_FILE must not name an empty file'],
    ['\n', 'DATABASE_URL_FILE must not name an empty file'],
    ['SECRET', ' (from DATABASE_URL_FILE)'],
  ])('is refused if it contains %j', (text, problem) => {
    expect(() => readConfig({ DATABASE_URL_FILE: file(text) })).toThrow(problem);
    expect(() => readConfig({ DATABASE_URL_FILE: file(text) })).not.toThrow('SECRET');
  });

  it.each([
    ['~/url', /^DATABASE_URL_FILE must have the whole path/],
    ['/none', /^DATABASE_URL_FILE must name a file that can be read: \/none \(ENOENT\)$/],
    // It may be the secret itself.
    ['postgres://u:SECRET@h/d', /^DATABASE_URL_FILE must name a file that can be read \(ENOENT\)$/],
  ])('must name a file: %s', (DATABASE_URL_FILE, problem) => {
    expect(problemsWith({ DATABASE_URL_FILE })).toMatch(problem);
  });

  it('is refused together with DATABASE_URL', () => {
    expect(() => readConfig({ DATABASE_URL: 'sqlite:x', DATABASE_URL_FILE: file('x') })).toThrow(
      'DATABASE_URL and DATABASE_URL_FILE must not both be set',
    );
  });
});
