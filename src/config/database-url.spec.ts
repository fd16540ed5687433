/** @engine sqlite */
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { describeDatabase, maskPassword } from './database-url.js';

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
