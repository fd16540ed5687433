import { Injectable, type PipeTransform } from '@nestjs/common';
import { Validator } from 'class-validator/cjs/validation/Validator.js';
import { ERRORS, Fault } from '../errors/errors.js';
import { findJsonFault } from './find-json-fault.js';
import { parseInt64 } from './int64.js';
import { isNewPlant, NewPlantDto } from './plant.dto.js';

const QUOTE_ESCAPE_OR_NUMBER = /"|\\.|-?\d[\d.eE+-]*/g;
const FRACTION_OR_EXPONENT = /\d[.eE]/;

/**
 * Turns the text of a request's body into a NewPlant: reads the JSON, the id from its digits, and
 * validates; fields beyond the schema are dropped.
 *
 * @throws Fault INVALID_JSON with the offset of what is wrong, or INVALID_PLANT with a message that names every field at fault
 */
@Injectable()
export class NewPlantPipe implements PipeTransform<string, NewPlantDto> {
  private readonly validator = new Validator();

  transform(text: string): NewPlantDto {
    const body = readObject(text);
    const { name, tag } = body;
    const id = typeof body.id === 'number' ? (exactId(body.id, text) ?? body.id) : body.id;
    const fields = tag === undefined ? { id, name } : { id, name, tag };
    if (isNewPlant(fields)) return fields;
    const errors = this.validator.validateSync(Object.assign(new NewPlantDto(), fields));
    const reasons = errors.flatMap((error) => Object.values(error.constraints ?? {}));
    throw new Fault(ERRORS.INVALID_PLANT, reasons.join('; '));
  }
}

function readObject(text: string): Record<string, unknown> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Fault(ERRORS.INVALID_JSON, `${ERRORS.INVALID_JSON.message}${placeOf(text)}`);
  }
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) {
    return body as Record<string, unknown>;
  }
  throw new Fault(ERRORS.INVALID_PLANT, 'the body must be a JSON object');
}

function placeOf(text: string): string {
  const fault = findJsonFault(text);
  if (fault === undefined) return '';
  return ` at byte ${Buffer.byteLength(text.slice(0, fault))} of ${Buffer.byteLength(text)}`;
}

/**
 * The id as its digits say it. JSON.parse has read it as a double, which is exact for an integer
 * literal whose value is a safe integer. Otherwise the text is read again with every number in
 * quotes, which leaves the id's digits as they stand; the first reading has shown it to be valid.
 */
function exactId(id: number, text: string): bigint | undefined {
  if (Number.isSafeInteger(id) && !FRACTION_OR_EXPONENT.test(text)) return BigInt(id);
  let isString = false;
  const quoted = text.replace(QUOTE_ESCAPE_OR_NUMBER, (token) => {
    if (token === '"') isString = !isString;
    return isString || token === '"' ? token : `"${token}"`;
  });
  return parseInt64((JSON.parse(quoted) as { id: string }).id);
}
