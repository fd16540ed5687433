import { isInt64 } from './int64.js';

/**
 * What a kind of value needs in SQL, in JSON, in checks and in validation. In memory, a plant's values are text: a double
 * does not represent every int64.
 */
export interface Kind {
  /** Makes text from what a driver reads. */
  readonly fromDriver: (value: unknown) => string;
  /** SQL that makes a column's value from text. */
  readonly fromText: (text: string) => string;
  /** SQL that makes text from a column: the same on every engine. */
  readonly toText: (column: string) => string;
  /** SQLite's SQL of a column in JSON, as PostgreSQL makes it of the type by itself. */
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
    fromDriver: String,
    fromText: (text) => `CAST(${text} AS text)`,
    toText: (column) => column,
    toJson: (column) => column,
    isSound: (column) => `typeof(${column}) = 'text' AND instr(${column}, char(0)) = 0`,
    isValid: isStorableText,
    describeInvalid: (value) =>
      typeof value === 'string'
        ? 'must not contain U+0000 or unpaired surrogates'
        : 'must be a string',
  },
  bigint: {
    fromDriver: String,
    fromText: (text) => `CAST(${text} AS bigint)`,
    toText: (column) => `CAST(${column} AS text)`,
    toJson: (column) => column,
    isSound: (column) => `typeof(${column}) = 'integer'`,
    isValid: isInt64,
    describeInvalid: () => 'must be an integer from -2^63 to 2^63-1',
  },
};

/**
 * Whether a value is a string that every store keeps exactly: without U+0000, which PostgreSQL cannot store, and
 * without unpaired surrogates, which UTF-8 cannot encode.
 */
export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}
