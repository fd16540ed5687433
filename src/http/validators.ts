// How DTOs are validated: decorators for values that every store keeps exactly, and the pipe for their bodies.
import { applyDecorators, ValidationPipe, type ArgumentMetadata } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { INT64_RULE, isInt64, toBigInt } from './int64.js';
import { checkType } from './json-body.js';

/** An optional field may be absent; with class-validator's @IsOptional(), also null. */
interface FieldOptions {
  readonly isOptional?: boolean;
}

/** Validates a text without U+0000, which PostgreSQL cannot store, and unpaired surrogates, which UTF-8 cannot encode. */
export function IsStorableText(options?: FieldOptions): PropertyDecorator {
  return validateField('isStorableText', findTextProblem, options);
}

/** Validates an int64. ValidationPipe with `transform` makes a bigint of it. */
export function IsInt64(options?: FieldOptions): PropertyDecorator {
  return applyDecorators(
    validateField('isInt64', findInt64Problem, options),
    Transform(({ value }: { value: unknown }) => toBigInt(value)),
    // Otherwise class-transformer would call `new BigInt()` for an object, such as a LosslessNumber.
    Type(() => Object),
  );
}

function findTextProblem(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be a string';
  if (value.isWellFormed() && !value.includes('\0')) return undefined;
  return 'must not contain U+0000 or unpaired surrogates';
}

function findInt64Problem(value: unknown): string | undefined {
  if (isInt64(toBigInt(value))) return undefined;
  return typeof value === 'string' ? `${INT64_RULE}, not a string` : INT64_RULE;
}

function validateField(
  name: string,
  findProblem: (value: unknown) => string | undefined,
  { isOptional = false }: FieldOptions = {},
): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value) => (isOptional && value === undefined) || findProblem(value) === undefined,
      defaultMessage: (args) =>
        args?.value === undefined ? '$property is missing' : `$property ${findProblem(args.value)}`,
    },
  });
}

/** Nest's ValidationPipe for a DTO that is required: a body that is missing has the error of `POST /plants`. */
export class BodyPipe extends ValidationPipe {
  constructor() {
    super({ transform: true, whitelist: true });
  }

  /** @throws ApiException MEDIA_TYPE; as Nest's ValidationPipe */
  override transform(body: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (body === undefined) checkType();
    return super.transform(body, metadata);
  }
}
