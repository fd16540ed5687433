/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { parseEnvironmentFile } from './environment.js';
import { misspelledNames } from './misspelled.js';

it.each<[string, Record<string, string>]>([
  ['A=b', { A: 'b' }],
  ['  A = b c  ', { A: 'b c' }],
  ['A=', { A: '' }],
  ['A=1\nA=2\r\nB=3', { A: '2', B: '3' }],
  ['# A=b\n; C=d\n\nE=f', { E: 'f' }],
  // A password may have what begins a comment elsewhere.
  ['A=pa#ss # word', { A: 'pa#ss # word' }],
  [`A='b "c" \\n'`, { A: 'b "c" \\n' }],
  ['A="b \\"c\\" \\$d \\n"', { A: 'b "c" $d \\n' }],
  ['A="b" \'c\'d', { A: 'bcd' }],
  ['A="b\nc"\nD=e', { A: 'b\nc', D: 'e' }],
  ['A=b\\\nc\\d', { A: 'bcd' }],
  [`A=it's`, { A: `it's` }],
  ['no assignment\n1A=b\nA-B=c\nexport C=d\nD=e', { D: 'e' }],
])('parseEnvironmentFile: %j', (text, variables) => {
  expect(parseEnvironmentFile(text)).toEqual(variables);
});

it.each([
  ['DATABSE_URL', 'DATABASE_URL'],
  ['DATABASE_ULR', 'DATABASE_URL'],
  ['DATABASE_URL_FLIE', 'DATABASE_URL_FILE'],
  ['port', 'PORT'],
  ['PROT', 'PORT'],
  ['NODE_ENVS', 'NODE_ENV'],
  ['MANAGMENT_PORT', 'MANAGEMENT_PORT'],
])('%s is taken for %s', (name, nearest) => {
  expect(misspelledNames([name])).toEqual([`${name} is ignored: did you mean ${nearest}?`]);
});

it.each(['DATABASE_URL', 'DATABASE_URL_FILE', 'SSL_CERT_FILE', 'PGHOST', 'PATH', 'COPY_FROM', 'A'])(
  '%s is taken for no other',
  (name) => {
    expect(misspelledNames([name])).toEqual([]);
  },
);
