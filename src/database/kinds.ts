/** By the SQL type of a column: what is wrong with a value from a client; undefined if it can be stored exactly. */
export const FIND_FAULT = {
  text: (value: unknown): string | undefined => {
    if (typeof value !== 'string') return 'must be a string';
    // PostgreSQL cannot store U+0000, and UTF-8 cannot encode unpaired surrogates.
    if (value.isWellFormed() && !value.includes('\0')) return undefined;
    return 'must not contain U+0000 or unpaired surrogates';
  },
  bigint: (value: unknown): string | undefined =>
    isInt64(value) ? undefined : 'must be an integer from -2^63 to 2^63-1',
};

export type KindName = keyof typeof FIND_FAULT;

/** A column of a table, for SQL that is made from it. */
export interface Column {
  readonly name: string;
  readonly type: KindName;
}

/** A number that is a safe integer stands for itself; any other may have lost digits. */
function isInt64(value: unknown): boolean {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value;
  return Number.isSafeInteger(value);
}

const LITERAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
const MAX_DIGITS = 19;
const POWERS_OF_TEN = Array.from({ length: MAX_DIGITS }, (_, zeros) => 10n ** BigInt(zeros));

/**
 * Reads a JSON number (RFC 8259, section 6) from its digits, never through a double. As in JSON Schema, `7.0` and `7e2` are
 * integers. @returns the int64; undefined if the text is no integer or is out of range
 */
export function parseInt64(literal: string): bigint | undefined {
  const match = LITERAL.exec(literal);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;
  let start = 0;
  while (digits[start] === '0') start++;
  // Not /0+$/, which scans each run of zeros once per zero.
  let end = digits.length;
  while (end > start && digits[end - 1] === '0') end--;
  if (end === start) return 0n;
  // The number is the digits × 10^zeros: below zero it has a fraction, far above it overflows.
  const zeros = Number(exponent) - fraction.length + digits.length - end;
  const power = POWERS_OF_TEN[zeros];
  if (power === undefined || end - start + zeros > MAX_DIGITS) return undefined;
  const id = BigInt(sign + digits.slice(start, end)) * power;
  return isInt64(id) ? id : undefined;
}
