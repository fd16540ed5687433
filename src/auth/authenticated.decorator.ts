import { applyDecorators, UseGuards } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { ApiError } from '../errors/error.dto.js';
import { BearerGuard } from './bearer.guard.js';

/** An operation for holders of a token alone: the guard, and what the document says of it. */
export function Authenticated(): MethodDecorator & ClassDecorator {
  return applyDecorators(
    UseGuards(BearerGuard),
    ApiBearerAuth('bearerAuth'),
    ApiError(401, 'no bearer token, or an invalid or expired one', {
      'WWW-Authenticate': {
        description:
          'The challenge of RFC 6750, section 3; with `error="invalid_token"` where a token was sent',
        required: true,
        schema: { type: 'string' },
        example: 'Bearer realm="plant-store", error="invalid_token"',
      },
    }),
    ApiError(
      403,
      'a JSON Web Token that holds but lacks the scope; only where the operator takes such tokens',
      {
        'WWW-Authenticate': {
          description: 'The challenge of RFC 6750, section 3, with the scope that it takes',
          required: true,
          schema: { type: 'string' },
          example: 'Bearer realm="plant-store", error="insufficient_scope", scope="plants:create"',
        },
      },
    ),
    ApiError(429, "over the token's rate limit, where the operator has set one: try again later", {
      'Retry-After': {
        description: 'Seconds to wait before the request is sent again',
        required: true,
        schema: { type: 'integer' },
        example: 1,
      },
      'RateLimit-Policy': {
        description: 'The limit: `q` requests in `w` seconds',
        required: true,
        schema: { type: 'string' },
        example: '"token";q=200;w=1',
      },
      RateLimit: {
        description: 'What is left of it: `r` requests for the next `t` seconds',
        required: true,
        schema: { type: 'string' },
        example: '"token";r=0;t=1',
      },
    }),
  );
}
