/** @engine sqlite */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Config, VARIABLES } from './config.js';
import { ConfigError, inspectConfig, parseEnvFile, readConfig } from './environment.js';

const NAMES = Object.values(VARIABLES).map(({ name }) => name);
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
    const names = NAMES.flatMap((name) => [name, `${name}_FILE`]);
    expect(readConfig(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(new Config());
  });

  it('shows no invalid value that may contain a secret', () => {
    const secret = 's3cr3t';
    const values = [`postgres://u:${secret}@h`, `https://u:${secret}@h`, `https://h?k=${secret}`];
    for (const value of [...values, `plant_${secret}`, `${secret}${'x'.repeat(80)}\n`]) {
      for (const name of NAMES) expect(problemsWith({ [name]: value })).not.toContain(secret);
    }
    expect(problemsWith({ DATABASE_URL: secret })).toMatch(/^(?!.*s3cr3t)\w+ must be /);
  });

  it.each<[RegExp, NodeJS.ProcessEnv]>([
    [
      /^PORT must .*\nDATABASE_URL must be .* with one host .*, %23 for #, .* \(from environment\)$/,
      { PORT: 'x', DATABASE_URL: 'postgres://u:se' },
    ],
    [/^MANAGEMENT_PORT must not be PORT on the same host$/, { PORT: '80', MANAGEMENT_PORT: '80' }],
    [/^HOST must be a host name .*, not "h:80" \(from environment\)$/, { HOST: 'h:80' }],
    [/^TLS_CERT_FILE and TLS_KEY_FILE must be set together$/, { TLS_CERT_FILE: 'x' }],
    [
      /^AUTH_ISSUER and AUTH_AUDIENCE must be set together$/,
      { AUTH_ISSUER: 'https://id.example/' },
    ],
    [/^AUTH_ISSUER and AUTH_AUDIENCE must be set together$/, { AUTH_AUDIENCE: 'x' }],
    [/^AUTH_JWKS_URL needs AUTH_ISSUER$/, { AUTH_JWKS_URL: 'https://id.example/keys' }],
    [
      /^DATABASE_URL_FILE must be a readable file in UTF-8: \/none \(ENOENT\)$/,
      { DATABASE_URL_FILE: '/none' },
    ],
    // It may be the secret itself.
    [
      /^DATABASE_URL_FILE must be a readable file in UTF-8 \(ENOENT\)$/,
      { DATABASE_URL_FILE: 'postgres://u:SECRET@h/d' },
    ],
    [
      /^DATABASE_URL and DATABASE_URL_FILE must not both be set$/,
      { DATABASE_URL: 'sqlite:x', DATABASE_URL_FILE: 'x' },
    ],
    [/^DATABASE_URL_FILE must not be an empty file$/, { DATABASE_URL_FILE: file('empty', '') }],
    [/^DATABASE_URL_FILE must not be an empty file$/, { DATABASE_URL_FILE: file('line', '\n') }],
    [/^(?!.*SECRET).* \(from DATABASE_URL_FILE\)$/, { DATABASE_URL_FILE: file('bad', 'SECRET') }],
  ])('%s', (problem, env) => {
    expect(problemsWith(env)).toMatch(problem);
  });

  it.each(['"x"', "'x'", '`x`', '""', '"a\nb"', '"x', "x'"])(
    'refuses %j with its quotes',
    (value) => {
      for (const name of NAMES)
        expect(problemsWith({ [name]: value })).toContain(
          `${name} must not begin or end with a quote (from environment)`,
        );
      expect(problemsWith({ DATABASE_URL_FILE: file('quoted', value) })).toBe(
        'DATABASE_URL must not begin or end with a quote (from DATABASE_URL_FILE)',
      );
    },
  );

  it.each(['sqlite:x', 'sqlite:x\n', 'sqlite:x\r\n'])('reads DATABASE_URL_FILE: %j', (text) => {
    const { databaseUrl } = readConfig({ DATABASE_URL_FILE: file('url', text) });
    expect(databaseUrl).toBe('sqlite:x');
  });

  it('takes one port on two addresses', () => {
    const env = { PORT: '80', MANAGEMENT_PORT: '80', MANAGEMENT_HOST: '127.0.0.2' };
    expect(readConfig(env)).toMatchObject({ port: 80, managementPort: 80 });
  });

  it('finds no conflict with an invalid variable', () => {
    expect(problemsWith({ AUTH_ISSUER: 'http://id.example', AUTH_AUDIENCE: 'x' })).toMatch(
      /^AUTH_ISSUER must be [^\n]+$/,
    );
  });
});

/** Every blank of JavaScript but the line break. */
const BLANKS = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).filter(
  (character) => /[^\S\r\n]/.test(character),
);
const SOME_NAMES = ['PORT', 'HOST', 'DATABASE_URL', 'DATABASE_URL_FILE', 'PGUSER'];
const VALUES = ['', 'x', '4000', '"a # b"', "'= '", '`"\'`', "it's", '#'];

const blanks = fc.string({ unit: fc.constantFrom(...BLANKS), maxLength: 3 });
const assignment = fc.record({
  name: fc.constantFrom(...SOME_NAMES),
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

it('warns of each line without effect, without its value', () => {
  const { variables, warnings } = parseEnvFile(`PORT=4000
# no
foo
export DOC = on
docs=x
c2VjcmV0==
\u200bSECRET=x
; no
DATABASE_URL_FIL=x
PORT_FILE=x
PG USER=x
NODE_EXTRA_CA_CERTS=/x
NODE_TLS_REJECT_UNAUTHORIZED=1
PORT=5000`);
  expect(Object.fromEntries(variables)).toEqual({
    PORT: '5000',
    NODE_TLS_REJECT_UNAUTHORIZED: '1',
  });
  const [none, unknown] = ['ignored, as it has no NAME=value', 'is unknown, or works only in the'];
  expect(warnings.map((warning) => warning.replace(/ environment$/, ''))).toEqual([
    `3: ${none}`,
    '4: DOC is unknown: did you mean DOCS?',
    `5: the name ${unknown}`,
    `6: the name ${unknown}`,
    `7: ${none}`,
    '9: DATABASE_URL_FIL is unknown: did you mean DATABASE_URL_FILE?',
    `10: PORT_FILE ${unknown}`,
    `11: ${none}`,
    `12: NODE_EXTRA_CA_CERTS ${unknown}`,
    '14: PORT is set above too: this line wins',
  ]);
});

it.each([
  ['0', 1],
  ['1', 0],
])('NODE_TLS_REJECT_UNAUTHORIZED=%s has %i warnings', (value, count) => {
  const { warnings } = inspectConfig({ NODE_TLS_REJECT_UNAUTHORIZED: value });
  expect(warnings).toHaveLength(count);
});
