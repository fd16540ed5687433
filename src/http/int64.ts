// An int64 on its way in and out: a double does not represent every one.
import {
  BadRequestException,
  Injectable,
  Optional,
  type ArgumentMetadata,
  type PipeTransform,
} from '@nestjs/common';
import { splitNumber } from 'lossless-json';

declare global {
  interface JSON {
    /** Missing in TypeScript's types (tc39.es/proposal-json-parse-with-source). */
    rawJSON(text: string): unknown;
  }
}

/** How a value must be, for messages. */
export const INT64_RULE = 'must be an integer from -2^63 to 2^63-1';

export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && BigInt.asIntN(64, value) === value;
}

/** Makes a bigint of a number that is exact, as JsonBodyGuard reads short integers; leaves other values as they are. */
export function toBigInt(value: unknown): unknown {
  return Number.isSafeInteger(value) ? BigInt(value as number) : value;
}

const LITERAL = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const MAX_DIGITS = 19;

/**
 * Reads a JSON number (RFC 8259, section 6) from its digits, never through a double. As in JSON Schema, `7.0` and `7e2` are
 * integers. @returns the int64; undefined if the text is no integer or is out of range
 */
export function parseInt64(literal: string): bigint | undefined {
  if (!LITERAL.test(literal)) return undefined;
  const { sign, digits, exponent } = splitNumber(literal);
  const zeros = exponent - digits.length + 1;
  // Below zero the number has a fraction, far above it overflows.
  if (zeros < 0 || exponent >= MAX_DIGITS) return undefined;
  const id = BigInt(sign + digits + '0'.repeat(zeros));
  return isInt64(id) ? id : undefined;
}

/** Makes a bigint of a decimal string, as of `@Param()` and `@Query()`. Nest's ParseIntPipe would lose digits. */
@Injectable()
export class ParseInt64Pipe implements PipeTransform<unknown, bigint | undefined> {
  /** @param options `optional` lets a value pass that is absent, as with Nest's own pipes */
  constructor(@Optional() private readonly options?: { readonly optional?: boolean }) {}

  /** @throws BadRequestException if the value is no decimal string, or no int64 */
  transform(
    value: unknown,
    { data = 'the value' }: Partial<ArgumentMetadata> = {},
  ): bigint | undefined {
    if (value === undefined && this.options?.optional) return undefined;
    const isDecimal = typeof value === 'string' && /^-?\d+$/.test(value);
    const int64 = isDecimal ? parseInt64(value) : undefined;
    if (int64 === undefined) throw new BadRequestException(`${data} ${INT64_RULE}`);
    return int64;
  }
}

/** Writes a bigint into JSON with its digits: Express's setting `json replacer`. */
export function writeBigInt(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? JSON.rawJSON(value.toString()) : value;
}
