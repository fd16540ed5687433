import { Injectable, type PipeTransform } from '@nestjs/common';
import { validateSync } from 'class-validator';
import { ERRORS, Fault } from '../errors/errors.js';
import { getSource } from '../http/json-body.js';
import { isInt64, NewPlantDto } from './plant.dto.js';

/**
 * Turns a body into a NewPlant: keeps every digit of the id, validates by the rules of the DTO, and drops fields beyond
 * the schema.
 */
@Injectable()
export class NewPlantPipe implements PipeTransform<unknown, NewPlantDto> {
  /** @throws Fault INVALID_PLANT with a message that names every invalid field; INVALID_JSON if nested too deeply */
  transform(body: unknown): NewPlantDto {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new Fault(ERRORS.INVALID_PLANT, 'the body must be a JSON object');
    }
    const { id, name, tag } = body as Readonly<Record<string, unknown>>;
    const plant = Object.assign(new NewPlantDto(), { id: readId(id, getSource(body)), name, tag });
    const errors = validateSync(plant);
    if (errors.length === 0) return plant;
    const messages = errors.flatMap(({ constraints }) => Object.values(constraints ?? {}));
    throw new Fault(ERRORS.INVALID_PLANT, messages.join('; '));
  }
}

const FRACTION_OR_EXPONENT = /\d[.eE]/;

/**
 * Reads the id from its digits. JSON.parse has read it as a double, which is exact for a safe integer that is written
 * without a fraction or an exponent. Otherwise the text is parsed again, with its source text for each id.
 *
 * @param id as JSON.parse has read it
 */
function readId(id: unknown, text: string): unknown {
  if (typeof id !== 'number') return id;
  if (Number.isSafeInteger(id) && !FRACTION_OR_EXPONENT.test(text)) return BigInt(id);
  try {
    return (JSON.parse(text, reviveId) as { readonly id: unknown }).id;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // JSON.parse calls a reviver recursively, up to the end of the stack.
    throw new Fault(ERRORS.INVALID_JSON, 'the body is nested too deeply');
  }
}

/** Ids of nested objects become exact too; they are dropped with their objects. */
function reviveId(key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return key === 'id' && typeof value === 'number' && context?.source !== undefined
    ? (parseInt64(context.source) ?? value)
    : value;
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
