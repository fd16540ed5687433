import { applyDecorators, UseGuards } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { ERRORS, type ErrorCode } from '../errors/error-codes.js';
import {
  ApiError,
  documentHeader,
  REQUEST_ID,
  RETRY_AFTER,
  type Headers,
} from '../errors/error.dto.js';
import { OperationGuard } from './operation.guard.js';
import { RequiredScope, TOKEN_SCOPES, type Scope } from './scopes.js';

/** The headers of a successful response, for `@ApiOkResponse()`. */
export const RESPONSE_HEADERS: Headers = { ...REQUEST_ID, ...documentRateLimit(150) };

/** The errors of a JSON body, for `@Authenticated()` of an operation that has one. */
export const BODY_ERRORS = [ERRORS.INVALID_JSON, ERRORS.MEDIA_TYPE, ERRORS.TOO_LARGE] as const;

/** Errors that every operation can give. */
const EVERY_OPERATION: readonly ErrorCode[] = [
  ERRORS.BAD_REQUEST,
  ERRORS.NO_TOKEN,
  ERRORS.INVALID_TOKEN,
  ERRORS.INSUFFICIENT_SCOPE,
  ERRORS.REQUEST_TIMEOUT,
  ERRORS.RATE_LIMITED,
  ERRORS.INTERNAL,
  ERRORS.STORE_UNAVAILABLE,
  ERRORS.OVERLOADED,
  ERRORS.SHUTTING_DOWN,
  ERRORS.IDENTITY_PROVIDER_UNAVAILABLE,
];

/**
 * Guards an operation, reads its JSON body for `@Body()`, and documents its token and its errors. Its module imports AuthModule. It
 * stands at a class or at its methods, not at both, as each would count the request.
 * @param scope what a token must have for this operation
 * @param errors rows of ERRORS that this operation itself can give, besides those of every operation
 */
export function Authenticated(
  scope: Scope,
  ...errors: readonly ErrorCode[]
): MethodDecorator & ClassDecorator {
  const byStatus = Map.groupBy([...EVERY_OPERATION, ...errors], ({ status }) => status);
  const documented = documentStatuses(scope);
  return applyDecorators(
    RequiredScope(scope),
    UseGuards(OperationGuard),
    ApiBearerAuth('bearerAuth'),
    ...Array.from(byStatus, ([status, rows]) => {
      const messages = rows.map(({ message }) => message).join('; ');
      const [description, headers] = documented[status] ?? [messages, documentRateLimit(150)];
      return ApiError(rows, description, headers);
    }),
  );
}

/** The description and the headers of each status that every operation can have. */
function documentStatuses(
  scope: Scope,
): Readonly<Record<number, readonly [description: string, headers?: Headers]>> {
  const challenge = 'The challenge of RFC 6750, section 3';
  return {
    400: ['unexpected error', documentRateLimit(150)],
    401: [
      'no bearer token, or an invalid or expired one',
      {
        'WWW-Authenticate': documentHeader(
          `${challenge}; with \`error="invalid_token"\` where a token was sent`,
          'Bearer realm="plant-store", error="invalid_token"',
        ),
      },
    ],
    403: [
      describeForbidden(scope),
      {
        'WWW-Authenticate': documentHeader(
          `${challenge}, with the scope that is required`,
          `Bearer realm="plant-store", error="insufficient_scope", scope="${scope}"`,
        ),
      },
    ],
    408: ['the request did not arrive in time: send it again'],
    429: [
      "over the token's rate limit, where the operator has set one: try again later",
      { ...RETRY_AFTER, ...documentRateLimit(0) },
    ],
    500: ['a fault of the service'],
    503: [
      'overloaded, shutting down, or the store or the identity provider unavailable: try again later',
      RETRY_AFTER,
    ],
  };
}

function describeForbidden(scope: Scope): string {
  if (!TOKEN_SCOPES.includes(scope)) return 'a valid token that lacks the scope';
  return 'a valid JSON Web Token that lacks the scope; only where the operator accepts such tokens';
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
