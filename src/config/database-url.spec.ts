/** @engine sqlite */
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { describeDatabase, findAddressProblem, maskPassword } from './database-url.js';

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

const INVALID_HOST = 'DATABASE_URL must have one host, and a port from 1 to 65535';
const INVALID_MODE =
  'DATABASE_URL must have an sslmode of disable, no-verify, prefer, require, verify-ca, verify-full';
const NO_DATABASE = 'DATABASE_URL names no database after its host: postgres://host/database';
const unreadable = (what: string) => `DATABASE_URL must name a file that can be read: ${what}`;
const NO_ROOT = expect.stringMatching(/^DATABASE_URL: .*sslrootcert/);
const MAY_BE_SECRET = 'DATABASE_URL has an unknown parameter; in a password, write %26 for &';
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
  ['postgres://h/plants?ssl=0', 'DATABASE_URL has an unknown parameter: ssl'],
  ['postgres://h/plants?sslmod=require', 'DATABASE_URL has an unknown parameter: sslmod'],
  ['postgres://u:SEC/RET?SECRET@h/plants', MAY_BE_SECRET],
  ['postgres://h/plants?password=SECRET&RET', MAY_BE_SECRET],
  ['postgres://u:S/R?SE=1&CRET@h/plants', MAY_BE_SECRET],
  ['postgres://u:p@h:99999/plants', INVALID_HOST],
  ['postgres://u:p@h:0/plants', INVALID_HOST],
  ['postgres://a:1,b:2/plants', expect.stringContaining(INVALID_HOST)],
  ['postgres://u:se', `${INVALID_HOST}; in a password, write %23 for #`],
  ['postgres://a,b/plants', INVALID_HOST],
  ['postgres:///plants?host=a,b', INVALID_HOST],
  ['postgres:///plants?port=x', INVALID_HOST],
  ['postgres://h/plants?sslrootcert=/nope', unreadable('sslrootcert (ENOENT)')],
  ['postgres://h/plants?sslkey=/&sslmode=verify-full', unreadable('sslkey (EISDIR)')],
  ['postgres://h/plants?sslmode=verify-ca&uselibpqcompat=true', NO_ROOT],
  ['postgres://u:%ff@h/plants', 'DATABASE_URL: URI malformed'],
  ['postgres://h', NO_DATABASE],
  ['postgres://u:p@h:5432/', NO_DATABASE],
  ['postgres://', NO_DATABASE],
])('finds what is wrong with %s', (address, problem) => {
  expect(findAddressProblem(address)).toEqual(problem);
});
