/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { chooseRequestId } from './request-context.js';

const MADE = /^[\da-f-]{36}$/;

it.each(['a', 'nursery/7:a', '7a'.repeat(64), '0ddb3b98-b7f6-43ec-b1a9-cbd4fe6205eb', 'plant_7'])(
  "the client's own id: %j",
  (id) => expect(chooseRequestId(id)).toBe(id),
);

it.each([
  ['none', undefined],
  ['several', ['a', 'b']],
  ['an empty one', ''],
  ['a long one', 'x'.repeat(129)],
  ['one of several words', 'a b'],
  ['a JSON Web Token', 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl'],
])('a new one in place of %s', (_name, header) => {
  expect(chooseRequestId(header)).toMatch(MADE);
});
