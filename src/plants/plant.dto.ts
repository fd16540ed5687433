import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsStorableText } from './storable-text.js';

/** A plant as the service answers it (interface, "Plant"): without the id. */
@ApiSchema({ name: 'Plant', description: 'A plant as the service answers it' })
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
  // Not @IsOptional(), which lets null pass: null is no string.
  @IsStorableText({ validateIf: (_plant, tag) => tag !== undefined })
  readonly tag?: string;
}
