import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { IsInt64 } from './int64.js';
import { PlantDto } from './plant.dto.js';

/** A plant as a client sends it (interface, "NewPlant"): every field of a Plant, and its id. */
@ApiSchema({ name: 'NewPlant', description: 'A plant as a client sends it' })
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
