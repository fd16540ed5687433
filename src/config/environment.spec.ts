/** @engine sqlite */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Config, VARIABLES } from './config.js';
import { ConfigError, parseEnvFile, readConfig } from './environment.js';

const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

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

  it('shows no invalid value that may contain a secret', () => {
    const secret = 's3cr3t';
    const values = [`postgres://u:${secret}@h`, `https://u:${secret}@h`, `https://h?k=${secret}`];
    for (const value of [...values, `plant_${secret}`, `${secret}${'x'.repeat(80)}\n`]) {
      for (const { name } of VARIABLES)
        expect(problemsWith({ [name]: value })).not.toContain(secret);
    }
    expect(problemsWith({ DATABASE_URL: secret })).toMatch(/^(?!.*s3cr3t)\w+ must be /);
  });

  it.each<[RegExp, NodeJS.ProcessEnv]>([
    [
      /^PORT must .*\nDATABASE_URL must be .* with one host .*, %23 for #, .* \(from environment\)$/,
      { PORT: 'x', DATABASE_URL: 'postgres://u:se' },
    ],
    [/^MANAGEMENT_PORT must not be PORT: /, { PORT: '80', MANAGEMENT_PORT: '80' }],
    [/^TLS_CERT_FILE and TLS_KEY_FILE must be set together$/, { TLS_CERT_FILE: 'x' }],
    [/^AUTH_AUDIENCE must be set with AUTH_ISSUER: /, { AUTH_ISSUER: 'https://id.example/' }],
    [/^AUTH_ISSUER must be set with AUTH_AUDIENCE and AUTH_JWKS_URL$/, { AUTH_AUDIENCE: 'x' }],
    [/^AUTH_ISSUER must be set with AUTH_AUDIENCE and /, { AUTH_JWKS_URL: 'https://x' }],
    [/^DATABASE_URL_FILE must have the whole path/, { DATABASE_URL_FILE: '~/url' }],
    [
      /^DATABASE_URL_FILE must name a file that can be read: \/none \(ENOENT\)$/,
      { DATABASE_URL_FILE: '/none' },
    ],
    // It may be the secret itself.
    [
      /^DATABASE_URL_FILE must name a file that can be read \(ENOENT\)$/,
      { DATABASE_URL_FILE: 'postgres://u:SECRET@h/d' },
    ],
    [
      /^DATABASE_URL and DATABASE_URL_FILE must not both be set$/,
      { DATABASE_URL: 'sqlite:x', DATABASE_URL_FILE: 'x' },
    ],
    [/^DATABASE_URL_FILE must not name an empty file$/, { DATABASE_URL_FILE: file('empty', '') }],
    [/^DATABASE_URL_FILE must not name an empty file$/, { DATABASE_URL_FILE: file('line', '\n') }],
    [/^(?!.*SECRET).* \(from DATABASE_URL_FILE\)$/, { DATABASE_URL_FILE: file('bad', 'SECRET') }],
  ])('%s', (problem, env) => {
    expect(problemsWith(env)).toMatch(problem);
  });

  it.each(['sqlite:x', 'sqlite:x\n', 'sqlite:x\r\n'])('reads DATABASE_URL_FILE: %j', (text) => {
    const { databaseUrl } = readConfig({ DATABASE_URL_FILE: file('url', text) });
    expect(databaseUrl).toBe('sqlite:x');
  });

  it('finds no conflict with the default of an invalid variable', () => {
    expect(problemsWith({ AUTH_ISSUER: 'http://id.example', AUTH_AUDIENCE: 'x' })).toMatch(
      /^AUTH_ISSUER must be [^\n]+$/,
    );
  });
});

/** Every blank of JavaScript but the line break. */
const BLANKS = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).filter(
  (character) => /[^\S\r\n]/.test(character),
);
const NAMES = ['PORT', 'HOST', 'DATABASE_URL', 'DATABASE_URL_FILE', 'GIT_COMMIT', 'PGUSER'];
const VALUES = ['', 'x', '4000', '"a # b"', "'= '", '`"\'`', "it's", '#'];

const blanks = fc.string({ unit: fc.constantFrom(...BLANKS), maxLength: 3 });
const assignment = fc.record({
  name: fc.constantFrom(...NAMES),
  value: fc.constantFrom(...VALUES),
  around: fc.tuple(blanks, blanks, blanks, blanks),
  prefix: blanks.map((some) => (some === '' ? '' : `export${some}`)),
});
const others = fc.constantFrom('', '# PORT=1', "; it's = '", '\u00a0# x=`');

/** What is meant by a value: without quotes, or a comment. */
const meaningOf = (value: string) =>
  (/^(["'`])([^]*)\1$/.exec(value)?.[2] ?? value).replace(/^#/, '');

it('reads each variable, whatever blanks are around its name and its value', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(assignment, others), { selector: ([{ name }]) => name }),
      fc.constantFrom('\n', '\r\n', '\r'),
      (entries, end) => {
        const lines = entries.map(([{ name, value, around, prefix }, other]) => {
          const [a, b, c, d] = around;
          return `${other}\n${a}${prefix}${name}${b}=${c}${value}${d}\n`;
        });
        const { variables, warnings } = parseEnvFile(
          `\uFEFF${lines.join('')}`.replaceAll('\n', end),
        );
        expect(warnings).toEqual([]);
        expect(variables).toEqual(
          new Map(entries.map(([{ name, value }]) => [name, meaningOf(value)])),
        );
      },
    ),
  );
});

it('warns of each other line, and of open quotes, without the value', () => {
  const { variables, warnings } = parseEnvFile(`PORT=4000
# no
foo
export DOC = on
PGUSER='a
b'
docs=x
c2VjcmV0==
\u200bSECRET=x
; no
DATABASE_URL_FIL=x
PORT_FILE=x
PG USER=x
NODE_EXTRA_CA_CERTS=/x
NODE_TLS_REJECT_UNAUTHORIZED=1
HOST="x`);
  expect(variables.get('PORT')).toBe('4000');
  expect(warnings).toEqual([
    '3: ignored, as it has no =',
    '4: DOC is unknown',
    '5: the quote is not closed',
    '6: ignored, as it has no =',
    '7: the name is unknown',
    '8: the name is unknown',
    '9: the name is unknown',
    '11: DATABASE_URL_FIL is unknown',
    '12: PORT_FILE is unknown',
    '13: the name is unknown',
    '14: NODE_EXTRA_CA_CERTS works only in the environment, which is read first',
    '16: the quote is not closed',
  ]);
});
