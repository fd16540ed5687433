// A create, step 7 of 13: makes a valid plant of the text.
import { Injectable, type PipeTransform } from '@nestjs/common';
import { validateSync } from 'class-validator';
import { ERRORS, ApiException } from '../errors/error-codes.js';
import { parseMembers } from '../http/json-body.js';
import { redact } from '../http/redact.js';
import { isInt64, NewPlantDto } from './plant.dto.js';

/** Characters of a wrong value that a message has at most. */
const MAX_LENGTH = 40;

/** What the body has of a plant. */
const FIELDS = ['id', 'name', 'tag'] as const;

/**
 * Turns the text of a body into a NewPlant: keeps every digit of the id, validates by the rules of the DTO, and drops
 * fields beyond the schema.
 */
@Injectable()
export class NewPlantPipe implements PipeTransform<string, NewPlantDto> {
  /** @throws ApiException INVALID_JSON; INVALID_PLANT with a message that names every invalid field */
  transform(text: string): NewPlantDto {
    const literals = parseMembers(text, FIELDS);
    if (!literals) throw new ApiException(ERRORS.INVALID_PLANT, 'the body must be a JSON object');
    const fields = {
      id: readInteger(literals.id),
      name: readText(literals.name),
      tag: readText(literals.tag),
    } satisfies Record<keyof NewPlantDto, unknown>;
    const plant = Object.assign(new NewPlantDto(), fields);
    const errors = validateSync(plant);
    if (errors.length === 0) return plant;
    const messages = errors.flatMap(({ property, value, constraints = {} }) => {
      if (value === undefined || typeof value === 'string') return Object.values(constraints);
      const sent = describe(literals[property as keyof NewPlantDto]);
      return Object.values(constraints).map((message) => `${message}, not ${sent}`);
    });
    throw new ApiException(ERRORS.INVALID_PLANT, messages.join('; '));
  }
}

/** @returns null if the value is no int64: undefined would say that it is missing */
function readInteger(literal: string | undefined): bigint | null | undefined {
  return literal === undefined ? undefined : (parseInt64(literal) ?? null);
}

/** @returns null if the value is no string */
function readText(literal: string | undefined): string | null | undefined {
  if (literal === undefined) return undefined;
  return literal.startsWith('"') ? (JSON.parse(literal) as string) : null;
}

/** Describes a value of the wrong type to the client that sent it. */
function describe(literal = ''): string {
  if (literal.startsWith('[')) return 'an array';
  if (literal.startsWith('{')) return 'an object';
  // Clients log messages. Half a character would be no text that all of them can read.
  const start = redact(literal.slice(0, MAX_LENGTH)).replace(/[\uD800-\uDBFF]$/, '');
  const text = literal.length > MAX_LENGTH ? `${start}...` : start;
  return literal.startsWith('"') ? `the string ${text}` : text;
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
