/** @engine sqlite */
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { databaseUrl, describeDatabase, findSqliteFile } from './database-url.js';
import { inspectConfig } from './environment.js';

it.each([
  ['sqlite:./data/x', `SQLite ${resolve('data/x')}`],
  ['sqlite:/a b', 'SQLite /a b'],
  ['postgres://u:SECRET@db:5432/plants?sslmode=disable', 'PostgreSQL db:5432, database plants'],
  ['postgres:///plants', 'PostgreSQL localhost, database plants'],
  ['postgres://u:SECRET@/plants', 'PostgreSQL localhost, database plants'],
  ['postgres://u:SEC@RET@h/plants', 'PostgreSQL h, database plants'],
  ['postgres://%2Frun%2Fpg/my%20plants', 'PostgreSQL /run/pg, database my plants'],
])('describes and masks %s', (address, described) => {
  const { PGHOST } = process.env;
  delete process.env.PGHOST;
  expect(describeDatabase(address)).toBe(described);
  if (PGHOST !== undefined) process.env.PGHOST = PGHOST;
  expect(databaseUrl.mask?.(address)).toBe(address.replace(/SEC@?RET/, '***'));
});

it.each([
  ['sslmode', 'sslmode=verify-full'],
  ['sslmode=', 'sslmode=verify-full'],
  ['sslmode&host=h', 'sslmode=verify-full&host=h'],
  ['host=h&sslmode=require', 'host=h&sslmode=verify-full'],
  ['sslmode=disable', 'sslmode=disable'],
  ['sslmode=no-verify&host=h', 'sslmode=no-verify&host=h'],
  ['sslmode=disabled', 'sslmode=verify-full'],
  ['sslmode=prefer&sslmode=allow', 'sslmode=verify-full&sslmode=verify-full'],
])('reads %s as %s', (given, read) => {
  expect(databaseUrl.parse(`postgres://h/plants?${given}`)).toBe(`postgres://h/plants?${read}`);
});

// `backup FILE` makes such an address of any name; the variable allows fewer.
it('finds a file whose name has a line break', () => {
  expect(findSqliteFile('sqlite:/a\nb')).toBe('/a\nb');
});

const INVALID = `DATABASE_URL must be ${databaseUrl.rule}`;
const UNKNOWN_PARAMETER = expect.stringMatching(
  /^DATABASE_URL must have no parameters but host, (?!.*(SECRET|RET)).*; in the password, %26 for &$/,
);

it.each([
  ['sqlite:./~x$', undefined],
  ['sqlite:~/p.sqlite', INVALID],
  ['sqlite:~plants/p', INVALID],
  ['sqlite:$HOME/p', INVALID],
  ['sqlite:/data/${NAME}', INVALID],
  ['postgres://u:p@h/plants?sslmode=no-verify&application_name=x', undefined],
  ['postgres://h/plants?sslmode=disable', undefined],
  ['postgres://h/plants?ssl=0', UNKNOWN_PARAMETER],
  ['postgres://h/plants?statement_timeout=1000&lock_timeout=1000', undefined],
  ['postgres://h/plants?query_timeout=1000', UNKNOWN_PARAMETER],
  ['postgres://h/plants?sslmod=require', UNKNOWN_PARAMETER],
  ['postgres://u:SEC/RET?SECRET@h/plants', UNKNOWN_PARAMETER],
  ['postgres://h/plants?password=SECRET&RET', UNKNOWN_PARAMETER],
  ['postgres://u:S/R?SE=1&CRET@h/plants', UNKNOWN_PARAMETER],
  ['postgres://u:p@h:99999/plants', INVALID],
  ['postgres://a:1,b:2/plants', INVALID],
  ['postgres://u:p@a,b/plants', INVALID],
  ['postgres://u:p,q@h/plants', undefined],
  ['postgres://u:se', INVALID],
  [
    'postgres://h/plants?sslrootcert=/nope',
    "DATABASE_URL: ENOENT: no such file or directory, open '/nope'",
  ],
  [
    'postgres://h/plants?sslkey=/&sslmode=verify-full',
    expect.stringMatching(/^DATABASE_URL: EISDIR: /),
  ],
  ['postgres://h/plants?sslmode=verify-ca&uselibpqcompat=true', UNKNOWN_PARAMETER],
  ['postgres://u@h/plants?p%61ssword=SECRET', UNKNOWN_PARAMETER],
  ['postgres://h/plants?ssl%6Dode=verify-full', UNKNOWN_PARAMETER],
  ['postgres://h/plants?application_name=x?sslmode=verify-full', INVALID],
  ['postgres://h/plants?application_name=a?b&password=SECRET', INVALID],
  ['postgres://h/plants?&application_name=a%3Fb&', undefined],
  ['postgres://u:%ff@h/plants', 'DATABASE_URL: URI malformed'],
])('finds what is wrong with %s', (address, problem) => {
  const [found] = inspectConfig({ DATABASE_URL: address }).problems;
  expect(found?.replace(/ \(from environment\)$/, '')).toEqual(problem);
});
