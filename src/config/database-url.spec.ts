/** @engine sqlite */
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { databaseUrl, describeDatabase, findAddressProblem, maskPassword } from './database-url.js';

it.each([
  ['sqlite:./data/x', `SQLite ${resolve('data/x')}`],
  ['sqlite:/a b', 'SQLite /a b'],
  ['postgres://u:SECRET@db:5432/plants?sslmode=disable', 'PostgreSQL db:5432, database plants'],
  ['postgresql:///plants?host=/run/pg&password=SECRET', 'PostgreSQL /run/pg, database plants'],
  // The driver decodes the name of a parameter too.
  ['postgres://u@h/plants?p%61ssword=SECRET', 'PostgreSQL h, database plants'],
  ['postgres:///plants', 'PostgreSQL localhost, database plants'],
  ['postgres://u:SECRET@/plants', 'PostgreSQL localhost, database plants'],
  ['postgres://u:SEC@RET@h/plants', 'PostgreSQL h, database plants'],
  ['postgres://%2Frun%2Fpg/my%20plants', 'PostgreSQL /run/pg, database my plants'],
])('describes and masks %s', (address, described) => {
  const { PGHOST } = process.env;
  delete process.env.PGHOST;
  expect(describeDatabase(address)).toBe(described);
  if (PGHOST !== undefined) process.env.PGHOST = PGHOST;
  expect(maskPassword(address)).toBe(address.replace(/SEC@?RET/, '***'));
});

const INVALID = `DATABASE_URL must be ${databaseUrl.rule}`;
const INVALID_MODE =
  'DATABASE_URL must have an sslmode of disable, no-verify, prefer, require, verify-ca, verify-full';
const NO_ROOT = expect.stringMatching(/^DATABASE_URL: .*sslrootcert/);
const UNKNOWN_PARAMETER = expect.stringMatching(
  /^DATABASE_URL must have no parameters but host, (?!.*(SECRET|RET)).*; in the password, %26 for &$/,
);
const SHELL_PATH = expect.stringMatching(/^DATABASE_URL must have the whole path, .* ~ or \$NAME/);

it.each([
  ['sqlite:./~x$', undefined],
  ['sqlite:~/p.sqlite', SHELL_PATH],
  ['sqlite:~plants/p', SHELL_PATH],
  ['sqlite:$HOME/p', SHELL_PATH],
  ['sqlite:/data/${NAME}', SHELL_PATH],
  ['postgres://u:p@h/plants?sslmode=no-verify&application_name=x', undefined],
  ['postgres://h/plants?sslmode=disable', undefined],
  ['postgres://h/plants?sslmode=requier', INVALID_MODE],
  ['postgres://h/plants?sslmode=', INVALID_MODE],
  ['postgres://h/plants?sslmode=verify-full&sslmode=x', INVALID_MODE],
  ['postgres://h/plants?ssl=0', UNKNOWN_PARAMETER],
  ['postgres://h/plants?sslmod=require', UNKNOWN_PARAMETER],
  ['postgres://u:SEC/RET?SECRET@h/plants', UNKNOWN_PARAMETER],
  ['postgres://h/plants?password=SECRET&RET', UNKNOWN_PARAMETER],
  ['postgres://u:S/R?SE=1&CRET@h/plants', UNKNOWN_PARAMETER],
  ['postgres://u:p@h:99999/plants', INVALID],
  ['postgres://u:p@h:0/plants', INVALID],
  ['postgres://a:1,b:2/plants', INVALID],
  ['postgres://u:se', INVALID],
  ['postgres://a,b/plants', INVALID],
  ['postgres:///plants?host=a,b', INVALID],
  ['postgres:///plants?port=x', INVALID],
  [
    'postgres://h/plants?sslrootcert=/nope',
    "DATABASE_URL: ENOENT: no such file or directory, open '/nope'",
  ],
  [
    'postgres://h/plants?sslkey=/&sslmode=verify-full',
    expect.stringMatching(/^DATABASE_URL: EISDIR: /),
  ],
  ['postgres://h/plants?sslmode=verify-ca&uselibpqcompat=true', NO_ROOT],
  ['postgres://u:%ff@h/plants', 'DATABASE_URL: URI malformed'],
])('finds what is wrong with %s', (address, problem) => {
  expect(findAddressProblem(address)).toEqual(problem);
});
