import { ApiResponse } from '@nestjs/swagger';
import { ErrorDto } from './error.dto.js';
import { ERRORS } from './errors.js';

type Headers = NonNullable<Parameters<typeof ApiResponse>[0]['headers']>;

/**
 * Documents an answer with an Error body, the headers that only this answer carries, and an example
 * for every number that the table of errors has for the status.
 */
export function ApiError(
  status: number,
  description: string,
  headers?: Headers,
): MethodDecorator & ClassDecorator {
  const examples = Object.fromEntries(
    Object.entries(ERRORS)
      .filter(([, kind]) => kind.status === status)
      .map(([name, { error, message }]) => [name, example(error, message)]),
  );
  return ApiResponse({
    status,
    description,
    type: ErrorDto,
    examples,
    ...(headers && { headers }),
  });
}

function example(error: number, message: string) {
  return { summary: `${error}: ${message}`, value: { error, message } };
}
