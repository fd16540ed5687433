import { validateSync } from 'class-validator';
import { ERRORS, Fault } from '../errors/errors.js';
import { isInt64, isNewPlant, NewPlantDto, pickFields, type UncheckedPlant } from './plant.dto.js';

const FRACTION_OR_EXPONENT = /\d[.eE]/;

/**
 * Turns the text of a request's body into a NewPlant: parses the JSON, keeps every digit of the id, and validates.
 * Drops fields beyond the schema.
 *
 * @throws Fault INVALID_JSON with the offset of the error, or INVALID_PLANT with a message that names every invalid field
 */
export function parseNewPlant(text: string): NewPlantDto {
  const body = readObject(text);
  const plant = pickFields(body, readId(body.id, text));
  if (isNewPlant(plant)) return plant;
  throw new Fault(ERRORS.INVALID_PLANT, describeInvalidFields(plant));
}

function readObject(text: string): Readonly<Record<string, unknown>> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Fault(ERRORS.INVALID_JSON, `${ERRORS.INVALID_JSON.message}${describePlace(text)}`);
  }
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) {
    return body as Record<string, unknown>;
  }
  throw new Fault(ERRORS.INVALID_PLANT, 'the body must be a JSON object');
}

function describePlace(text: string): string {
  const offset = findJsonFault(text);
  if (offset === undefined) return '';
  return ` at byte ${Buffer.byteLength(text.slice(0, offset))} of ${Buffer.byteLength(text)}`;
}

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
  } catch {
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

function describeInvalidFields(plant: UncheckedPlant): string {
  const errors = validateSync(Object.assign(new NewPlantDto(), plant));
  return errors.flatMap(({ constraints }) => Object.values(constraints ?? {})).join('; ');
}

/** One token of JSON (RFC 8259) and the blanks before it: a string, another scalar, or punctuation. */
const TOKEN =
  /([\t\n\r ]*)(?:("(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([{}[\],:]))?/y;

const STRING = '"';
const SCALAR = '0';
/** A plant has a dozen tokens. A body of brackets alone would take 20 ms. */
const MAX_TOKENS = 1_000;
/** Tokens that a value can begin with. */
const VALUE = `${STRING}${SCALAR}{[`;

/**
 * Finds the first token that JSON does not allow at its place, in a text that JSON.parse() refuses. V8's own message
 * mostly has no position, and quotes the text, which may hold a secret.
 *
 * @returns its offset in UTF-16 code units; the length of a text that ends too early; undefined after 1,000 tokens
 */
export function findJsonFault(text: string): number | undefined {
  const open: string[] = [];
  let expected = VALUE;
  TOKEN.lastIndex = 0;
  for (let tokens = 0; tokens < MAX_TOKENS; tokens++) {
    const start = TOKEN.lastIndex;
    const [, blanks = '', string, scalar, mark = ''] = TOKEN.exec(text) ?? [];
    const token = string ? STRING : scalar ? SCALAR : mark;
    if (token === '' || !expected.includes(token)) return start + blanks.length;
    const isKey = token === STRING && !expected.includes(SCALAR);
    if (token === '{' || token === '[') open.push(token);
    if (token === '}' || token === ']') open.pop();
    const isInObject = open.at(-1) === '{';
    if (token === '{') expected = `${STRING}}`;
    else if (token === '[') expected = `${VALUE}]`;
    else if (token === ',' && isInObject) expected = STRING;
    else if (token === ',' || token === ':') expected = VALUE;
    else if (isKey) expected = ':';
    else if (open.length === 0) expected = '';
    else expected = isInObject ? ',}' : ',]';
  }
  return undefined;
}
