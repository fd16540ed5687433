import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { ValidateBy } from 'class-validator';
import { FIND_FAULT, type KindName } from '../database/kinds.js';
import type { Plant } from './plant.entity.js';

/** Validates that a field has a value of a kind. An optional one may be absent; with @IsOptional(), also null. */
function IsKind(kind: KindName, { isOptional = false } = {}): PropertyDecorator {
  const findFault = FIND_FAULT[kind];
  return ValidateBy({
    name: `is ${kind}`,
    validator: {
      validate: (value) => (isOptional && value === undefined) || findFault(value) === undefined,
      defaultMessage: (args) =>
        args?.value === undefined ? '$property is missing' : `$property ${findFault(args.value)}`,
    },
  });
}

/** A plant in a response (contract/openapi.yaml, Plant): without the id. */
@ApiSchema({ name: 'Plant', description: 'A plant in a response' })
export class PlantDto {
  @ApiProperty({
    type: 'string',
    description: 'The name of the plant',
    examples: ['Common alder'],
  })
  @IsKind('text')
  readonly name!: string;

  @ApiPropertyOptional({
    type: 'string',
    description: 'Tag that specifies the type of the plant',
    examples: ['Alnus glutinosa'],
  })
  @IsKind('text', { isOptional: true })
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
  @IsKind('bigint')
  readonly id!: bigint;
}

/** @param createdBy id of the principal that creates the plant */
export function toEntity({ id, name, tag }: NewPlantDto, createdBy: string): Plant {
  return { id: id.toString(), name, tag: tag ?? null, createdBy, createdAt: null };
}

export function toPlantDto({ name, tag }: NewPlantDto): PlantDto {
  return { name, tag };
}
