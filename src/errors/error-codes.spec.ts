/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { read } from '../../test/support/published.js';
import { ERRORS, HTTP_EXCEPTION } from './error-codes.js';

const ROW = /^\| *(\d+) *\| *(\d+|its own) *\| *\S.*? *\|$/gm;

it('the table of errors is that of docs/errors.md: each number once, with its status, in order', () => {
  const documented = [...read('docs/errors.md').matchAll(ROW)].map(([, ...row]) => row);
  const rows = Object.values(ERRORS).map(({ error, status }) => [error, status].map(String));
  rows.push([String(HTTP_EXCEPTION), 'its own']);
  expect(documented).toEqual(rows.sort());
  expect(new Set(rows.map(([number]) => number)).size).toBe(rows.length);
});
