import { availableParallelism } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { ConfigError, readConfig } from './read-config.js';

const DEFAULTS = {
  port: 3000,
  host: '127.0.0.1',
  databaseUrl: 'sqlite:./data/plant-store.sqlite',
  databaseTimeout: 5_000,
  migrate: true,
  workers: 1,
  bodyLimit: 65_536,
  docs: true,
  logLevel: 'info',
  production: false,
};

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
    const env = { PORT: '', HOST: '', DATABASE_URL: '', PUBLIC_URL: '', BODY_LIMIT: '', DOCS: '' };
    const more = { DATABASE_TIMEOUT: '', MIGRATE: '', WORKERS: '', LOG_LEVEL: '', NODE_ENV: '' };
    expect(readConfig({ ...env, ...more })).toEqual(DEFAULTS);
  });

  it.each([
    [{ PORT: '0' }, { port: 0 }],
    [{ PORT: '65535' }, { port: 65_535 }],
    [{ HOST: '::1' }, { host: '::1' }],
    [{ DATABASE_URL: 'sqlite:/a b/c' }, { databaseUrl: 'sqlite:/a b/c' }],
    [
      { DATABASE_URL: 'postgres://u:p@h:5432/plants?sslmode=verify-full', WORKERS: '256' },
      { databaseUrl: 'postgres://u:p@h:5432/plants?sslmode=verify-full', workers: 256 },
    ],
    [{ DATABASE_URL: 'postgresql:///plants' }, { databaseUrl: 'postgresql:///plants' }],
    [{ DATABASE_TIMEOUT: '1s' }, { databaseTimeout: 1_000 }],
    [{ DATABASE_TIMEOUT: '1m' }, { databaseTimeout: 60_000 }],
    [{ MIGRATE: 'off' }, { migrate: false }],
    [{ WORKERS: '1' }, { workers: 1 }],
    [{ PUBLIC_URL: 'http://localhost:3000' }, { publicUrl: 'http://localhost:3000' }],
    [{ PUBLIC_URL: 'https://plants.example/v1' }, { publicUrl: 'https://plants.example/v1' }],
    [{ BODY_LIMIT: '1' }, { bodyLimit: 1 }],
    [{ BODY_LIMIT: '64kb' }, { bodyLimit: 65_536 }],
    [{ BODY_LIMIT: '1MB' }, { bodyLimit: 2 ** 20 }],
    [{ DOCS: 'off' }, { docs: false }],
    [{ DOCS: 'on' }, { docs: true }],
    [{ LOG_LEVEL: 'trace' }, { logLevel: 'trace' }],
    [{ NODE_ENV: 'production' }, { production: true }],
    [{ NODE_ENV: 'development' }, { production: false }],
  ])('%j', (env, fields) => {
    expect(readConfig(env)).toEqual({ ...DEFAULTS, ...fields });
  });

  it.each([
    ['PORT', ['-1', '65536', '1.5', 'x', '80 81', 'Infinity']],
    ['DATABASE_URL', ['mysql://secret', '/an/absolute/path', 'x', 'postgres://h', 'postgres://h/']],
    ['DATABASE_TIMEOUT', ['0s', '5', '999s', '61s', '2m', 'x']],
    ['MIGRATE', ['true', 'ON', 'x']],
    ['WORKERS', ['0', '-1', '1.5', '257', 'AUTO', 'x']],
    ['PUBLIC_URL', ['x', 'plants.example', 'ftp://plants.example', '/v1']],
    ['BODY_LIMIT', ['0', '-1', '1.5kb', '64 kb', 'kb', '2mb', '1gb', 'x']],
    ['DOCS', ['true', 'ON', '1', 'x']],
    ['LOG_LEVEL', ['log', 'INFO', 'x']],
  ])('%s is never %j, and the value is not repeated', (name, values) => {
    for (const value of values) {
      const problems = problemsWith({ [name]: value });
      expect(problems).toMatch(new RegExp(`^${name} must be .+$`));
      expect(problems.split(' ')).not.toContain(value);
    }
  });

  it('DATABASE_URL is never without a path', () => {
    expect(problemsWith({ DATABASE_URL: 'sqlite:' })).toBe(
      'DATABASE_URL must be sqlite: and the path of a file, or postgres://user:password@host/database',
    );
  });

  it('WORKERS is 1 with SQLite, and as many as there are cores where it is auto', () => {
    const problem = 'WORKERS must be 1 with SQLite, whose file one process writes at a time';
    expect(problemsWith({ WORKERS: '2' })).toBe(problem);
    const { workers } = readConfig({ DATABASE_URL: 'postgres://h/plants', WORKERS: 'auto' });
    expect(workers).toBe(availableParallelism());
  });

  it('lists every problem, one a line', () => {
    expect(problemsWith({ PORT: 'x', DOCS: 'x', LOG_LEVEL: 'x' }).split('\n')).toEqual([
      expect.stringMatching(/^PORT must be /),
      'DOCS must be on or off',
      'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace',
    ]);
  });

  it.each(['toString', '__proto__', 'constructor'])('DOCS=%s is no value either', (value) => {
    expect(problemsWith({ DOCS: value })).toBe('DOCS must be on or off');
  });
});
