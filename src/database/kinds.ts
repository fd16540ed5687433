/**
 * What a kind of value needs in SQL, in checks and in validation. In memory, a plant's values are text: a double does not
 * represent every int64.
 */
interface Kind {
  /** SQL that makes a column's value from text; of a boolean, `(text = 'true')`. */
  readonly fromText: (text: string) => string;
  /** SQL that makes text from a column: the same on every engine. */
  readonly toText: (column: string) => string;
  /** SQLite's SQL of a value for `json_object()`: of a boolean, which is 1 or 0, `json(…)` of its text. */
  readonly toJson: (column: string) => string;
  /** SQLite's SQL of whether a value that is not NULL is of the kind: SQLite stores any type in any column. */
  readonly isSound: (column: string) => string;
  /** Whether a value from a client can be stored exactly. */
  readonly isValid: (value: unknown) => boolean;
  /** What is wrong with an invalid value, to the client that sent it. */
  readonly describeInvalid: (value: unknown) => string;
}

/** The SQL types that columns of `plants` may have. */
export type KindName = 'text' | 'bigint';

export const KINDS: Readonly<Record<KindName, Kind>> = {
  text: {
    fromText: (text) => `CAST(${text} AS text)`,
    toText: (column) => column,
    toJson: (column) => column,
    isSound: (column) => `typeof(${column}) = 'text' AND instr(${column}, char(0)) = 0`,
    // PostgreSQL cannot store U+0000, and UTF-8 cannot encode unpaired surrogates.
    isValid: (value) => typeof value === 'string' && value.isWellFormed() && !value.includes('\0'),
    describeInvalid: (value) =>
      typeof value === 'string'
        ? 'must not contain U+0000 or unpaired surrogates'
        : 'must be a string',
  },
  bigint: {
    fromText: (text) => `CAST(${text} AS bigint)`,
    toText: (column) => `CAST(${column} AS text)`,
    toJson: (column) => column,
    isSound: (column) => `typeof(${column}) = 'integer'`,
    isValid: isInt64,
    describeInvalid: () => 'must be an integer from -2^63 to 2^63-1',
  },
};

function isInt64(value: unknown): boolean {
  return typeof value === 'bigint' && BigInt.asIntN(64, value) === value;
}

const LITERAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
const MAX_DIGITS = 19;
const POWERS_OF_TEN = Array.from({ length: MAX_DIGITS }, (_, zeros) => 10n ** BigInt(zeros));

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
