import { applyDecorators, UseGuards } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { ApiError } from '../errors/api-error.decorator.js';
import { BearerGuard } from './bearer.guard.js';

/** An operation for holders of a token alone: the guard, and what the document says of it. */
export function Authenticated(): MethodDecorator & ClassDecorator {
  return applyDecorators(
    UseGuards(BearerGuard),
    ApiBearerAuth('bearerAuth'),
    ApiError(401, 'no bearer token, or one that does not hold', {
      'WWW-Authenticate': {
        description:
          'The challenge of RFC 6750, section 3; with `error="invalid_token"` where a token was sent',
        required: true,
        schema: { type: 'string' },
        example: 'Bearer realm="plant-store", error="invalid_token"',
      },
    }),
  );
}
