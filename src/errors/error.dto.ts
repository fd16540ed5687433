import { ApiProperty, ApiResponse, ApiSchema, type ApiResponseOptions } from '@nestjs/swagger';
import { ERRORS, HTTP_EXCEPTION, type ErrorCode } from './error-codes.js';

const NUMBERS = Object.values<ErrorCode>(ERRORS)
  .map(({ error, status, message }) => `- ${error}, status ${status}: ${message}`)
  .join('\n');

const DESCRIPTION = `What is wrong with a request, or with the service. A number of \`error\` keeps its meaning \
forever. New numbers may be added.

${NUMBERS}
- ${HTTP_EXCEPTION}, any other status: see the message`;

/** The body of every response other than 200 (contract/openapi.yaml, Error). */
@ApiSchema({ name: 'Error', description: DESCRIPTION })
export class ErrorDto {
  @ApiProperty({ type: 'integer', format: 'int32', description: 'Numeric error value' })
  readonly error!: number;

  @ApiProperty({ type: 'string', description: 'Error message text' })
  readonly message!: string;
}

export type Headers = NonNullable<ApiResponseOptions['headers']>;

/** Documents a header of a response; its type is that of the example. */
export function documentHeader(description: string, example: string | number, required = true) {
  const type = typeof example === 'number' ? 'integer' : 'string';
  return { description, required, schema: { type }, example };
}

export const REQUEST_ID: Headers = {
  'X-Request-Id': documentHeader(
    "The request's id in the operator's log: the value from the request, or a new one",
    '0ddb3b98-b7f6-43ec-b1a9-cbd4fe6205eb',
  ),
};

/** The header of responses after which a client may retry. */
export const RETRY_AFTER: Headers = {
  'Retry-After': documentHeader('Seconds to wait before the request is sent again', 1),
};

/**
 * Documents a response with an Error body.
 * @param errors those that it may have, all of one status: each is an example
 * @param headers those beside X-Request-Id
 */
export function ApiError(
  errors: readonly ErrorCode[],
  description: string,
  headers?: Headers,
): MethodDecorator & ClassDecorator {
  const examples: Record<string, { summary: string; value: ErrorDto }> = {};
  for (const [name, row] of Object.entries<ErrorCode>(ERRORS)) {
    const { error, message } = row;
    if (errors.includes(row))
      examples[name] = { summary: `${error}: ${message}`, value: { error, message } };
  }
  const options = { status: errors[0]?.status ?? 500, description, type: ErrorDto, examples };
  return ApiResponse({ ...options, headers: { ...REQUEST_ID, ...headers } });
}
