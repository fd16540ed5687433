import { Injectable, type PipeTransform } from '@nestjs/common';
import { validateSync } from 'class-validator';
import { isLosslessNumber } from 'lossless-json';
import { ERRORS, ApiException } from '../errors/error-codes.js';
import { toBigInt } from '../http/int64.js';
import { checkType } from '../http/json-body.js';
import { NewPlantDto } from './plant.dto.js';
import { CONTENT } from './plant.entity.js';

/** Makes a NewPlant of a body; fields beyond the schema are dropped. */
@Injectable()
export class NewPlantPipe implements PipeTransform<unknown, NewPlantDto> {
  /** @throws ApiException INVALID_PLANT with a message that names every invalid field; MEDIA_TYPE without a body */
  transform(body: unknown): NewPlantDto {
    if (body === undefined) checkType();
    if (!isObject(body))
      throw new ApiException(ERRORS.INVALID_PLANT, 'the body must be a JSON object');
    const content = Object.fromEntries(CONTENT.map((field) => [field, body[field]]));
    // Its values are of any type until they are validated.
    const plant: object = Object.assign(new NewPlantDto(), content, { id: toBigInt(body.id) });
    const errors = validateSync(plant);
    if (errors.length === 0) return plant as NewPlantDto;
    const messages = errors.flatMap(({ constraints = {} }) => Object.values(constraints));
    throw new ApiException(ERRORS.INVALID_PLANT, messages.join('; '));
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !isLosslessNumber(value)
  );
}
