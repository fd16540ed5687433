/** @engine sqlite */
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { describeDatabase, findAddressProblems, maskPassword } from './database-url.js';

it.each([
  ['sqlite:./data/x', `SQLite ${resolve('data/x')}`, 'sqlite:./data/x'],
  ['sqlite:/a b', 'SQLite /a b', 'sqlite:/a b'],
  [
    'postgres://u:SECRET@db.example:5432/plants?sslmode=verify-full',
    'PostgreSQL db.example:5432, database plants',
    'postgres://u:***@db.example:5432/plants?sslmode=verify-full',
  ],
  [
    'postgresql:///plants?host=/var/run/postgresql&user=u&password=SECRET',
    'PostgreSQL /var/run/postgresql, database plants',
    'postgresql:///plants?host=/var/run/postgresql&user=u&password=***',
  ],
  [
    // The driver decodes the name of a parameter too.
    'postgres://u@h/plants?p%61ssword=SECRET',
    'PostgreSQL h, database plants',
    'postgres://u@h/plants?p%61ssword=***',
  ],
  ['postgres:///plants', 'PostgreSQL localhost, database plants', 'postgres:///plants'],
  [
    'postgres://u:SECRET@/plants',
    'PostgreSQL localhost, database plants',
    'postgres://u:***@/plants',
  ],
  ['postgres://u:SEC@RET@h/plants', 'PostgreSQL h, database plants', 'postgres://u:***@h/plants'],
  ['postgres://%2Frun%2Fpg/my%20plants', 'PostgreSQL /run/pg, database my plants'],
])('describes and masks %s', (address, described, masked = address) => {
  const { PGHOST } = process.env;
  delete process.env.PGHOST;
  expect({ described: describeDatabase(address), masked: maskPassword(address) }).toEqual({
    described,
    masked,
  });
  if (PGHOST !== undefined) process.env.PGHOST = PGHOST;
});

const INVALID_HOST = ['DATABASE_URL must have one host, and a port from 1 to 65535'];
const INVALID_MODE = [
  'DATABASE_URL must have an sslmode of disable, no-verify, prefer, require, verify-ca, verify-full',
];
const unreadable = (what: string) => [`DATABASE_URL must name a file that can be read: ${what}`];

it.each([
  ['u:p@h/plants?sslmode=no-verify&application_name=x', []],
  ['h/plants?sslmode=disable', []],
  ['h/plants?sslmode=requier', INVALID_MODE],
  ['h/plants?sslmode=', INVALID_MODE],
  ['h/plants?sslmode=verify-full&sslmode=x', INVALID_MODE],
  ['h/plants?ssl=0', ['DATABASE_URL has an unknown parameter: ssl']],
  ['u:p@h:99999/plants', INVALID_HOST],
  ['u:p@h:0/plants', INVALID_HOST],
  ['a:1,b:2/plants', INVALID_HOST],
  ['/plants?port=x', INVALID_HOST],
  ['h/plants?sslrootcert=/nope', unreadable('sslrootcert (ENOENT)')],
  ['h/plants?sslkey=/&sslmode=verify-full', unreadable('sslkey (EISDIR)')],
  ['h/plants?sslmode=verify-ca&uselibpqcompat=true', [expect.stringMatching(/: .*sslrootcert/)]],
  ...['h', 'h/', 'u:p@h:5432/', ''].map((address): [string, string[]] => [
    address,
    ['DATABASE_URL names no database after its host: postgres://host/database'],
  ]),
])('finds what is wrong with postgres://%s', (address, problems) => {
  expect(findAddressProblems(`postgres://${address}`)).toEqual(problems);
});
