/** Whether a value is a bigint within int64, −2^63 to 2^63 − 1. */
export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && BigInt.asIntN(64, value) === value;
}

const LITERAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
const MAX_DIGITS = 19;

/**
 * Reads the text of a JSON number (RFC 8259, section 6) from its digits, never through a double.
 * As in JSON Schema, `7.0` and `7e2` are integers.
 *
 * @returns the int64; undefined if the text is no integer or is out of range
 */
export function parseInt64(literal: string): bigint | undefined {
  const match = LITERAL.exec(literal);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  // Not /0+$/, which scans each run of zeros once per zero.
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  const significant = digits.slice(0, end);
  if (significant === '') return 0n;
  // 10^zeros × significant is the number: below zero it has a fraction, far above it overflows.
  // Lengths decide before any power is built, so `1e999999999` costs nothing.
  const zeros = Number(exponent) - fraction.length + digits.length - significant.length;
  if (zeros < 0 || significant.length + zeros > MAX_DIGITS) return undefined;
  const id = BigInt(sign + significant + '0'.repeat(zeros));
  return isInt64(id) ? id : undefined;
}
