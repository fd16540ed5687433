import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';

/**
 * The request itself, for pipes to make a parameter of. Unlike Express's body parsers, which run
 * before Nest's guards, a pipe reads the body only once the guard has let the request pass.
 */
export const Incoming = createParamDecorator((_data: undefined, context: ExecutionContext) =>
  context.switchToHttp().getRequest<Request>(),
);
