/** @engine sqlite */
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseEnvFile } from './env-file.js';

/** Every blank of JavaScript but the line break. */
const BLANKS = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).filter(
  (character) => /[^\S\r\n]/.test(character),
);
const NAMES = ['PORT', 'HOST', 'DATABASE_URL', 'DATABASE_URL_FILE', 'GIT_COMMIT', 'PGUSER'];
const VALUES = ['', 'x', '4000', '"a\nPORT=1\n\n# b"', "'= \n'", '`"\'`', "it's", '#'];

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
      fc.array(fc.tuple(assignment, others)),
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

it('warns of each other line, without its value', () => {
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
NODE_TLS_REJECT_UNAUTHORIZED=1`);
  expect(variables.get('PORT')).toBe('4000');
  expect(warnings).toEqual([
    '3: ignored, as it has no =',
    '4: DOC is unknown',
    '7: the name is unknown',
    '8: the name is unknown',
    '9: the name is unknown',
    '11: DATABASE_URL_FIL is unknown',
    '12: PORT_FILE is unknown',
    '13: the name is unknown',
    '14: NODE_EXTRA_CA_CERTS works only in the environment, which is read first',
  ]);
});
