/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { ERRORS, ApiException } from '../errors/error-codes.js';
import { parseJson, parseMembers } from './json-body.js';

const parsers: [string, (text: string) => unknown][] = [
  ['parseJson', parseJson],
  ['parseMembers', (text) => parseMembers(text, ['id'])],
];

it('parseJson returns what JSON.parse returns', () => {
  expect(parseJson('{"id":[7,null]}')).toEqual({ id: [7, null] });
});

it('parseMembers returns the texts of those members that are there', () => {
  const text = '{"id": 7.0 ,"other":1,"name":"a","n":{"tag":1}}';
  expect(parseMembers(text, ['id', 'name', 'tag'])).toEqual({ id: '7.0', name: '"a"' });
  expect(parseMembers('[1]', ['id'])).toBeUndefined();
});

describe.each(parsers)('%s throws INVALID_JSON', (_name, parse) => {
  it.each([
    ['{"id":7,', '8 of 8'],
    ['{"ü🌵":x}', '10 of 12'],
    ['['.repeat(2 ** 20), '1048576 of 1048576'],
    [`["${'\\n'.repeat(2 ** 19)}`, '1 of 1048578'],
  ])('with the offset of the error in bytes: %#', (text, place) => {
    const message = `the body is not valid JSON at byte ${place}`;
    expect(() => parse(text)).toThrow(new ApiException(ERRORS.INVALID_JSON, message));
  });

  it('of an empty text', () =>
    expect(() => parse('')).toThrow(new ApiException(ERRORS.INVALID_JSON, 'the body is empty')));

  it('of a text with a byte order mark', () =>
    expect(() => parse('\uFEFF{}')).toThrow(
      new ApiException(ERRORS.INVALID_JSON, 'the body begins with a byte order mark: leave it out'),
    ));
});
