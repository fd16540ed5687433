import type { ValidationOptions } from 'class-validator';
import { ValidateBy } from 'class-validator/cjs/decorator/common/ValidateBy.js';
import { getMetadataStorage } from 'class-validator/cjs/metadata/MetadataStorage.js';
import { Documented } from '../errors/documented.js';
import { IsInt64 } from './int64.js';

/**
 * Whether a value is a string that every store keeps exactly: one without U+0000 (PostgreSQL has no
 * room for it) and without unpaired surrogates (UTF-8 has no form for them).
 */
export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

/** class-validator's form of {@link isStorableText}. */
function IsStorableText(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isStorableText',
      validator: {
        validate: isStorableText,
        defaultMessage: (args) => {
          if (args?.value === undefined) return '$property is missing';
          return typeof args.value === 'string'
            ? '$property must not contain U+0000 or unpaired surrogates'
            : '$property must be a string';
        },
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

/** A plant as a client sends it (interface, "NewPlant"): every field of a Plant, and its id. */
@Documented(({ ApiSchema }) =>
  ApiSchema({ name: 'NewPlant', description: 'A plant as a client sends it' }),
)
export class NewPlantDto extends PlantDto {
  @Documented(({ ApiProperty }) =>
    ApiProperty({
      type: 'integer',
      format: 'int64',
      description: 'Identification number of the plant',
      examples: [3],
    }),
  )
  @IsInt64()
  readonly id!: bigint;
}

type Fields = { readonly [Name in keyof NewPlantDto]: unknown };

/** The rules that the decorators state, as class-validator keeps them. */
const RULES = getMetadataStorage()
  .getTargetValidationMetadatas(NewPlantDto, '', false, false)
  .flatMap((rule) => {
    const { propertyName, constraintCls, validateIf } = rule;
    // Its types do not say that these may be left out.
    const { constraints, groups, each } = rule as Partial<typeof rule>;
    const validators = getMetadataStorage().getTargetValidatorConstraints(constraintCls);
    if (validators.length === 0 || constraints?.length || groups?.length || each) {
      throw new Error(`a rule of ${propertyName} is more than isNewPlant() knows`);
    }
    const field = propertyName as keyof Fields;
    return validators.map(({ instance }) => ({ field, instance, validateIf }));
  });

/**
 * Whether class-validator would find nothing wrong. It takes 16 µs to find nothing, a sixth of a request (CPU
 * time on Node 24, medians of 8 interleaved rounds: 109 µs with it and 92 µs without); its rules in this loop take
 * 0.6 µs, and written by hand 0.3 (Node 26). So it is asked only for what to tell a client.
 */
export function isNewPlant(plant: Fields): plant is NewPlantDto {
  for (const { field, instance, validateIf } of RULES) {
    const value = plant[field];
    if (validateIf?.(plant, value) === false) continue;
    if (instance.validate(value) !== true) return false;
  }
  return true;
}
