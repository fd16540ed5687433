/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { toPastInstant, toTokenName } from './arguments.js';

it.each([
  ['2026-11-21', '2026-11-21T00:00:00.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['2026-11-21T13:40Z', '2026-11-21T13:40:00.000Z'],
  ['2026-11-21T13:40:59.5Z', '2026-11-21T13:40:59.500Z'],
  ['2026-11-21T00:30:00+02:00', '2026-11-20T22:30:00.000Z'],
  ['1999-12-31T23:59:59.999-12:00', '2000-01-01T11:59:59.999Z'],
])('reads %s as %s', (text, iso) => {
  expect(toPastInstant(text).toISOString()).toBe(iso);
});

const NO_DATES =
  '|yesterday|2026|2026-11|2026-13-01|2026-02-30|2026-02-30T00:00:00Z|2025-02-29|21.11.2026|' +
  '2026-11-21T13:40:00|2026-11-21 13:40:00Z|2026-11-21T25:00:00Z|2026-11-21T13:60Z|' +
  '2026-11-21T13:40:00+25:00| 2026-11-21|2026-11-21\n|1763700000000';
it.each(NO_DATES.split('|'))('refuses %j as a date', (text) => {
  expect(() => toPastInstant(text)).toThrow('A date is like 2026-11-21');
});

it('refuses a time in the future', () => {
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  expect(toPastInstant(at(0)).getTime()).toBeLessThanOrEqual(Date.now());
  for (const future of [at(60_000), '9999-12-31T23:59:59.999-12:00'])
    expect(() => toPastInstant(future)).toThrow('It is in the future: now it is 2');
});

it.each(['', '1ci', '-x', 'a b', 'é', 'a/b', 'a\n', `a${'b'.repeat(64)}`])(
  'refuses %j as the name of a token',
  (name) => expect(() => toTokenName(name)).toThrow('A name starts with a letter'),
);

it.each(['a', 'a.b_c@d-e', `a${'b'.repeat(63)}`])('takes %j as the name of a token', (name) => {
  expect(toTokenName(name)).toBe(name);
});
