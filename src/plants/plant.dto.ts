import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsInt64, IsStorableText } from '../http/validators.js';
import type { Plant, UncommittedPlant } from './plant.entity.js';

/** A plant in a response (contract/openapi.yaml, Plant): without the id. */
@ApiSchema({ name: 'Plant', description: 'A plant in a response' })
export class PlantDto {
  @ApiProperty({
    type: 'string',
    description: 'The name of the plant',
    examples: ['Common alder'],
  })
  @IsStorableText()
  readonly name!: string;

  @ApiPropertyOptional({
    type: 'string',
    description: 'Tag that specifies the type of the plant',
    examples: ['Alnus glutinosa'],
  })
  @IsStorableText({ isOptional: true })
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
  @IsInt64()
  readonly id!: bigint;
}

/** @param createdBy id of the principal that creates the plant */
export function toEntity(plant: NewPlantDto, createdBy: string): UncommittedPlant {
  return {
    id: plant.id,
    name: plant.name,
    tag: plant.tag ?? null,
    createdBy,
  };
}

export function toPlantDto(plant: NewPlantDto | Plant): PlantDto {
  return {
    name: plant.name,
    tag: plant.tag ?? undefined,
  };
}
