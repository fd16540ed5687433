/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { read } from '../../test/support/published.js';
import { ERRORS, HTTP_EXCEPTION, type ErrorCode } from './error-codes.js';

const ROW = /^\| *(\d+) *\| *(\d+|its own) *\| *\S.*? *\| *\S.*? *\|$/gm;

/** Headers of the responses with these statuses. */
const HEADERS: Readonly<Record<number, string[] | undefined>> = {
  401: ['www-authenticate'],
  403: ['www-authenticate'],
  503: ['retry-after'],
};

const kinds: ErrorCode[] = Object.values(ERRORS);

describe('the table of errors', () => {
  it('is that of docs/errors.md: every number, no other, each with its status, in order', () => {
    const documented = [...read('docs/errors.md').matchAll(ROW)].map(([, ...row]) => row);
    const rows = kinds.map(({ error, status }) => [error, status].map(String));
    rows.push([String(HTTP_EXCEPTION), 'its own']);
    expect(documented).toEqual(rows.sort());
  });

  it('gives a number once', () => {
    const numbers = [...kinds.map(({ error }) => error), HTTP_EXCEPTION];
    expect([...new Set(numbers)]).toEqual(numbers);
  });

  it.each(kinds)('$error has an int32, a message and the headers of its status', (kind) => {
    expect(kind.error | 0).toBe(kind.error);
    expect(kind.message).not.toBe('');
    expect(Object.keys(kind.headers ?? {})).toEqual(HEADERS[kind.status] ?? []);
  });
});
