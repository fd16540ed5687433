import { applyDecorators, UseGuards } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import {
  ApiError,
  documentHeader,
  REQUEST_ID,
  RETRY_AFTER,
  type Headers,
} from '../errors/error.dto.js';
import { JsonBodyGuard } from '../http/json-body.js';
import { BearerGuard } from './bearer.guard.js';
import { RateLimitGuard } from './rate-limit.guard.js';

/** The headers of a successful response, for `@ApiOkResponse()`. */
export const RESPONSE_HEADERS: Headers = { ...REQUEST_ID, ...documentRateLimit(150) };

/** Guards an operation, reads its JSON body for `@Body()`, documents its token and errors. Its module imports AuthModule. */
export function Authenticated(): MethodDecorator & ClassDecorator {
  return applyDecorators(
    // The token may be revoked while a body arrives: it is verified once more behind it.
    UseGuards(BearerGuard, RateLimitGuard, JsonBodyGuard, BearerGuard),
    ApiBearerAuth('bearerAuth'),
    ApiError(400, 'unexpected error', documentRateLimit(150)),
    ApiError(401, 'no bearer token, or an invalid or expired one', {
      'WWW-Authenticate': documentHeader(
        'The challenge of RFC 6750, section 3; with `error="invalid_token"` where a token was sent',
        'Bearer realm="plant-store", error="invalid_token"',
      ),
    }),
    ApiError(
      403,
      'a valid JSON Web Token that lacks the scope; only where the operator accepts such tokens',
      {
        'WWW-Authenticate': documentHeader(
          'The challenge of RFC 6750, section 3, with the scope that is required',
          'Bearer realm="plant-store", error="insufficient_scope", scope="plants:create"',
        ),
      },
    ),
    ApiError(408, 'the request did not arrive in time: send it again'),
    ApiError(429, "over the token's rate limit, where the operator has set one: try again later", {
      ...RETRY_AFTER,
      ...documentRateLimit(0),
    }),
    ApiError(500, 'a fault of the service'),
    ApiError(
      503,
      'overloaded, shutting down, or the store or the identity provider unavailable: try again later',
      RETRY_AFTER,
    ),
  );
}

/** Documents the headers of a rate limit. They are optional: a proxy's 429 has none. @param left in the example */
function documentRateLimit(left: number): Headers {
  const where = '; only where the operator has set one';
  return {
    'RateLimit-Policy': documentHeader(
      `The limit: \`q\` requests in \`w\` seconds${where}`,
      '"token";q=200;w=1',
      false,
    ),
    RateLimit: documentHeader(
      `What is left of the limit: \`r\` requests for the next \`t\` seconds${where}`,
      `"token";r=${left};t=1`,
      false,
    ),
  };
}
