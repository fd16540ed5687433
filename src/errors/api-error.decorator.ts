import { ApiResponse } from '@nestjs/swagger';
import { ErrorDto } from './error.dto.js';

type Headers = NonNullable<Parameters<typeof ApiResponse>[0]['headers']>;

/** Documents an answer with an Error body, and the headers that only this answer carries. */
export function ApiError(
  status: number,
  description: string,
  headers?: Headers,
): MethodDecorator & ClassDecorator {
  return ApiResponse({ status, description, type: ErrorDto, ...(headers && { headers }) });
}
