// How DTOs are validated: decorators for values that every store keeps exactly, and the pipe for their bodies.
import {
  applyDecorators,
  BadRequestException,
  HttpException,
  ValidationPipe,
  type ArgumentMetadata,
} from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { isLosslessNumber } from 'lossless-json';
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

/**
 * Nest's ValidationPipe for a DTO that is required. A body that is missing has the error of `POST /plants`. class-transformer
 * calls the constructors of the values that it finds: a number that no double holds becomes the nearest double, as with
 * JSON.parse(), and what class-transformer cannot make is refused.
 */
export class BodyPipe extends ValidationPipe {
  constructor() {
    super({ transform: true, whitelist: true });
  }

  /** @throws ApiException MEDIA_TYPE; BadRequestException */
  override async transform(body: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (body === undefined) checkType();
    try {
      return await super.transform(toDoubles(body), metadata);
    } catch (cause) {
      if (cause instanceof HttpException) throw cause;
      throw new BadRequestException('the body does not match the schema', { cause });
    }
  }
}

function toDoubles(value: unknown): unknown {
  if (isLosslessNumber(value)) return Number(value.value);
  if (Array.isArray(value)) return value.map(toDoubles);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toDoubles(one)]));
}
