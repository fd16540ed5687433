import type { ValidationOptions } from 'class-validator';
import { ValidateBy } from 'class-validator/cjs/decorator/common/ValidateBy.js';
import { Documented } from '../errors/documented.js';

/**
 * Whether a value is a string that every store keeps exactly: one without U+0000 (PostgreSQL has no
 * room for it) and without unpaired surrogates (UTF-8 has no form for them).
 */
export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

/** class-validator's form of {@link isStorableText}. */
export function IsStorableText(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isStorableText',
      validator: {
        validate: isStorableText,
        defaultMessage: (args) =>
          typeof args?.value === 'string'
            ? '$property must not contain U+0000 or unpaired surrogates'
            : '$property must be a string',
      },
    },
    options,
  );
}

/** A plant as the service answers it (interface, "Plant"): without the id. */
@Documented(({ ApiSchema }) =>
  ApiSchema({ name: 'Plant', description: 'A plant as the service answers it' }),
)
export class PlantDto {
  @Documented(({ ApiProperty }) =>
    ApiProperty({
      type: 'string',
      description: 'The name of the plant',
      examples: ['Common alder'],
    }),
  )
  @IsStorableText()
  readonly name!: string;

  @Documented(({ ApiPropertyOptional }) =>
    ApiPropertyOptional({
      type: 'string',
      description: 'Tag that specifies the type of the plant',
      examples: ['Alnus glutinosa'],
    }),
  )
  // Not @IsOptional(), which lets null pass: null is no string.
  @IsStorableText({ validateIf: (_plant, tag) => tag !== undefined })
  readonly tag?: string;
}
