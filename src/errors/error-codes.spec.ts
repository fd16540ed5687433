/** @engine sqlite */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ERRORS, HTTP_EXCEPTION, type ErrorCode } from './error-codes.js';

const ROW = /^\| *(\d+) *\| *(\d+|its own) *\| *(\S.*?) *\| *(\S.*?) *\|$/gm;
const PAGE = new URL('../../docs/errors.md', import.meta.url);

/** Headers of the responses with these statuses. */
const HEADERS: Readonly<Record<number, string[] | undefined>> = {
  401: ['www-authenticate'],
  403: ['www-authenticate'],
  503: ['retry-after'],
};

const kinds: ErrorCode[] = Object.values(ERRORS);

describe('the table of errors', () => {
  it('is that of docs/errors.md: every number, no other, each with its status, in order', () => {
    const documented = [...readFileSync(PAGE, 'utf8').matchAll(ROW)].map(([, error, status]) => ({
      error: Number(error),
      status,
    }));
    const rows = kinds.map(({ error, status }) => ({ error, status: String(status) }));
    rows.push({ error: HTTP_EXCEPTION, status: 'its own' });
    expect(documented).toEqual(rows.sort((a, b) => a.error - b.error));
  });

  it('gives a number once', () => {
    const numbers = [...kinds.map(({ error }) => error), HTTP_EXCEPTION];
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it.each(kinds)('$error has an int32, a message and the headers of its status', (kind) => {
    expect(kind.error | 0).toBe(kind.error);
    expect(kind.message).not.toBe('');
    expect(Object.keys(kind.headers ?? {})).toEqual(HEADERS[kind.status] ?? []);
  });
});
