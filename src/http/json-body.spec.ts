/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LosslessNumber } from 'lossless-json';
import { ERRORS } from '../errors/error-codes.js';
import { parseJson } from './json-body.js';

const parse = (text: string) => parseJson(Buffer.from(text));

it('reads what JSON.parse reads, but for numbers that a double does not have', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      fc.pre(!/\d{16}|e\+/.test(text));
      expect(parse(text)).toEqual(JSON.parse(text));
    }),
  );
});

// Integers: test/http/plants.e2e.spec.ts.
describe('a number', () => {
  it.each([
    ['0.1', 0.1],
    ['-0', -0],
    ['0.0e-400', 0],
    ['1.5e-7', 1.5e-7],
    ['9007199254740991', 2 ** 53 - 1],
    ['9007199254740993', 9007199254740993n],
    ['9e18', 9n * 10n ** 18n],
  ])('%s is read with all of its digits', (literal, value) => {
    expect(parse(`[${literal}]`)).toEqual([value]);
  });

  it.each(['1e400', '1e-400', '9007199254740993.5', '0.12345678901234567890123'])(
    '%s is a LosslessNumber: neither a double nor an int64 has it',
    (literal) => expect(parse(literal)).toEqual(new LosslessNumber(literal)),
  );
});

it('a number is read after 64 KB of escapes, the longest body', () => {
  const text = JSON.stringify({ name: 'a\n'.repeat((2 ** 16 - 50) / 3), id: 7 });
  expect(parse(text)).toMatchObject({ id: 7 });
});

it.each([
  ['k'.repeat(999), /^.{100,200} encountered at position 1006$/],
  [`plant_${'aB3'.repeat(12)}`, / key '\[redacted\]' /],
])('INVALID_JSON shows no long key, and no token: %#', (key, message) => {
  const refusal = { kind: ERRORS.INVALID_JSON, message: expect.stringMatching(message) };
  expect(() => parse(`{"${key}":1,"${key}":2}`)).toThrow(expect.objectContaining(refusal));
});

/** The levels of arrays and objects in a value. */
const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
    : 0;

it('refuses what has more than 100 levels, whatever they are, and reads all else', () => {
  const text = fc.string({ unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', 'x') });
  const beside = fc.oneof(text, fc.constantFrom(7, null, [], {}, [{ a: [] }]));
  const level = fc.record({ isArray: fc.boolean(), text, beside });
  const levels = fc.array(level, { minLength: 1, maxLength: 5 });
  const count = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 96, max: 104 }));
  fc.assert(
    fc.property(levels, count, fc.nat(1), (shapes, levels, indent) => {
      let value: unknown = 'x';
      for (let i = 0; i < levels; i++) {
        const { isArray, text = '', beside } = shapes[i % shapes.length] ?? {};
        value = isArray ? [text, value, beside] : { [text]: beside, inner: value, '[{"': text };
      }
      const read = () => parse(JSON.stringify(value, null, indent));
      const refusal = { kind: ERRORS.TOO_LARGE, message: expect.stringMatching(/ 100 levels$/) };
      if (depthOf(value) > 100) expect(read).toThrow(expect.objectContaining(refusal));
      else expect(read()).toEqual(value);
    }),
    { numRuns: 300 },
  );
});
