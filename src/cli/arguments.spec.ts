/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { toTokenName } from './arguments.js';

it.each(['', '1ci', '-x', 'a b', 'é', 'a/b', 'a\n', `a${'b'.repeat(64)}`])(
  'refuses %j as the name of a token',
  (name) => expect(() => toTokenName(name)).toThrow('It must be a letter, then'),
);

it.each(['a', 'a.b_c@d-e', `a${'b'.repeat(63)}`])('takes %j as the name of a token', (name) => {
  expect(toTokenName(name)).toBe(name);
});
