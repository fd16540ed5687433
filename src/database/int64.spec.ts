/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseInt64 } from './int64.js';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

describe('parseInt64', () => {
  it.each([
    ['0', 0n],
    ['-0', 0n],
    ['-0.000e-7', 0n],
    ['7', 7n],
    ['7.0', 7n],
    ['7e2', 700n],
    ['70e-1', 7n],
    ['0.07e2', 7n],
    ['-1.50e1', -15n],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    [`${MIN}`, MIN],
    [`${MAX}`, MAX],
    [`${MAX}.${'0'.repeat(100)}`, MAX],
    [`0.${'0'.repeat(100)}1e101`, 1n],
    ['0e999999999999999999', 0n],
  ])('reads %s', (literal, value) => expect(parseInt64(literal)).toBe(value));

  it.each([
    '1.5',
    '1.00000000000000001',
    '15e-1',
    '1e-1',
    `${MIN - 1n}`,
    `${MAX + 1n}`,
    `${MAX}.1`,
    '1e19',
    '1e999999999999999999',
    '-1e999999999999999999',
    '1e-999999999999999999',
    '',
    ' 7',
    '7 ',
    '7.',
    '.7',
    '+7',
    '--7',
    '7e',
    '0x7',
    '7n',
    '١',
    'NaN',
    'Infinity',
    '7\n',
  ])('rejects %s', (literal) => expect(parseInt64(literal)).toBeUndefined());

  it('rejects a million digits in linear time', () => {
    // Quadratic time would be hours.
    const zeros = '0'.repeat(1_000_000);
    expect(parseInt64(`1${zeros}1`)).toBeUndefined();
    expect(parseInt64(`1.${zeros}1`)).toBeUndefined();
  });

  const digits = fc.string({ unit: fc.constantFrom(...Array.from('0123456789')), maxLength: 25 });
  const literals = fc
    .record({
      sign: fc.constantFrom('', '-'),
      whole: digits.map((text) => text || '0'),
      fraction: digits,
      exponent: fc.integer({ min: -40, max: 40 }),
    })
    .map((parts) => ({ ...parts, text: textOf(parts) }));

  it('agrees with exact arithmetic', () => {
    fc.assert(
      fc.property(literals, ({ text, ...parts }) => {
        expect(parseInt64(text)).toBe(model(parts));
      }),
      { numRuns: 5000 },
    );
  });

  it('reads every int64 in every way of writing it', () => {
    const int64 = fc.bigInt({ min: MIN, max: MAX });
    fc.assert(
      fc.property(int64, fc.nat(30), fc.nat(30), (id, shift, zeros) => {
        expect(parseInt64(`${id}`)).toBe(id);
        expect(parseInt64(`${id}.${'0'.repeat(zeros + 1)}`)).toBe(id);
        expect(parseInt64(`${id}${'0'.repeat(shift)}e-${shift}`)).toBe(id);
      }),
    );
  });
});

interface Parts {
  sign: string;
  whole: string;
  fraction: string;
  exponent: number;
}

function textOf({ sign, whole, fraction, exponent }: Parts): string {
  return `${sign}${whole}${fraction && `.${fraction}`}${exponent === 0 ? '' : `e${exponent}`}`;
}

/** The number as a fraction of two bigints; undefined where it is no int64. */
function model({ sign, whole, fraction, exponent }: Parts): bigint | undefined {
  const power = exponent - fraction.length;
  const numerator = BigInt(`${whole}${fraction}`) * 10n ** BigInt(Math.max(power, 0));
  const denominator = 10n ** BigInt(Math.max(-power, 0));
  if (numerator % denominator !== 0n) return undefined;
  const value = (numerator / denominator) * (sign === '-' ? -1n : 1n);
  return value >= MIN && value <= MAX ? value : undefined;
}
