import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { ValidateBy } from 'class-validator';
import { isInt64 } from '../database/int64.js';
import type { Plant } from './plant.entity.js';

/**
 * Whether a value is a string that every store keeps exactly: without U+0000, which PostgreSQL cannot store, and
 * without unpaired surrogates, which UTF-8 cannot encode.
 */
export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

/** Not @IsOptional(), which lets null pass: null is no string. */
function isAbsentOrStorableText(value: unknown): value is string | undefined {
  return value === undefined || isStorableText(value);
}

/** States a predicate to class-validator. @param describe says what is wrong with a value that is present */
function Satisfies(
  predicate: (value: unknown) => boolean,
  describe: (value: unknown) => string,
): PropertyDecorator {
  return ValidateBy({
    name: predicate.name,
    validator: {
      validate: predicate,
      defaultMessage: (args) =>
        args?.value === undefined ? '$property is missing' : `$property ${describe(args.value)}`,
    },
  });
}

const describeId = () => 'must be an integer from -2^63 to 2^63-1';
const describeText = (value: unknown) =>
  typeof value === 'string' ? 'must not contain U+0000 or unpaired surrogates' : 'must be a string';

/** A plant in a response (contract/openapi.yaml, Plant): without the id. */
@ApiSchema({ name: 'Plant', description: 'A plant in a response' })
export class PlantDto {
  @ApiProperty({
    type: 'string',
    description: 'The name of the plant',
    examples: ['Common alder'],
  })
  @Satisfies(isStorableText, describeText)
  readonly name!: string;

  @ApiPropertyOptional({
    type: 'string',
    description: 'Tag that specifies the type of the plant',
    examples: ['Alnus glutinosa'],
  })
  @Satisfies(isAbsentOrStorableText, describeText)
  readonly tag: string | undefined;
}

/** A plant as a client sends it (contract/openapi.yaml, NewPlant): every field of a Plant, and its id. */
@ApiSchema({
  name: 'NewPlant',
  description:
    'A plant as a client sends it. Other fields are ignored, even a misspelt `tag`: its text is lost for good, as a ' +
    'plant cannot be changed.',
})
export class NewPlantDto extends PlantDto {
  @ApiProperty({
    type: 'integer',
    format: 'int64',
    description: 'Identification number of the plant',
    examples: [3],
  })
  @Satisfies(isInt64, describeId)
  readonly id!: bigint;
}

/** @param createdBy id of the principal that creates the plant */
export function toEntity({ id, name, tag }: NewPlantDto, createdBy: string): Plant {
  return { id: id.toString(), name, tag: tag ?? null, createdBy, createdAt: null };
}

export function toPlantDto({ name, tag }: NewPlantDto): PlantDto {
  return { name, tag };
}
