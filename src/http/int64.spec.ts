/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BadRequestException } from '@nestjs/common';
import { parseInt64, ParseInt64Pipe } from './int64.js';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

describe('parseInt64', () => {
  it.each([
    ['-0.000e-7', 0n],
    [`${MAX}.${'0'.repeat(100)}`, MAX],
    [`0.${'0'.repeat(100)}1e101`, 1n],
    ['0e999999999999999999', 0n],
  ])('reads %s', (literal, value) => expect(parseInt64(literal)).toBe(value));

  // Others: test/http/plants.e2e.spec.ts, test/http/plants-refused.e2e.spec.ts and below.
  it.each([
    ...['1e19', '1e999999999999999999', '-1e999999999999999999', '1e-999999999999999999'],
    ...['', ' 7', '7 ', '7.', '.7', '+7', '--7', '7e', '0x7', '7n', '١', 'NaN', 'Infinity', '7\n'],
  ])('rejects %s', (literal) => expect(parseInt64(literal)).toBeUndefined());

  it('rejects a million digits in linear time', () => {
    // Quadratic time would be hours.
    const zeros = '0'.repeat(1_000_000);
    expect(parseInt64(`1${zeros}1`)).toBeUndefined();
    expect(parseInt64(`1.${zeros}1`)).toBeUndefined();
  });

  it('agrees with exact arithmetic', () => {
    const sign = fc.constantFrom('', '-');
    const digits = fc.string({ unit: fc.constantFrom(...Array.from('0123456789')), maxLength: 25 });
    const exponents = fc.integer({ min: -40, max: 40 });
    fc.assert(
      fc.property(sign, digits, digits, exponents, (sign, digits, fraction, exponent) => {
        const whole = digits || '0';
        const power = exponent - fraction.length;
        const numerator = BigInt(sign + whole + fraction) * 10n ** BigInt(Math.max(power, 0));
        const denominator = 10n ** BigInt(Math.max(-power, 0));
        const value = numerator / denominator;
        const isInt64 = numerator % denominator === 0n && value >= MIN && value <= MAX;
        const literal = `${sign}${whole}${fraction && `.${fraction}`}${exponent ? `e${exponent}` : ''}`;
        expect(parseInt64(literal)).toBe(isInt64 ? value : undefined);
      }),
      { numRuns: 5000 },
    );
  });
});

describe('ParseInt64Pipe', () => {
  it('lets an absent value pass only if it is optional, and an invalid one never', () => {
    const optional = new ParseInt64Pipe({ optional: true });
    expect(optional.transform(undefined)).toBeUndefined();
    expect(() => new ParseInt64Pipe().transform(undefined)).toThrow(BadRequestException);
    for (const value of ['', ' ', 'x', '7.0', '7e2', '1.5', ['1', '2'], null, `${MAX + 1n}`])
      expect(() => optional.transform(value)).toThrow(BadRequestException);
    for (const value of [MIN, -MAX, 7n, MAX]) expect(optional.transform(`${value}`)).toBe(value);
    expect(optional.transform('-0')).toBe(0n);
  });
});
