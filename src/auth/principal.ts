import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Scope } from './scopes.js';

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- Passport's types are extended like this
  namespace Express {
    interface User {
      /** Stored with each plant that it creates, never reused: `token:3`, or `jwt:alice` for the `sub` alice. */
      readonly id: string;
      readonly name: string;
      /** What its token may do. */
      readonly scopes: readonly Scope[];
    }
  }
}

/** Who sent a request, in `request.user`. */
export type Principal = Express.User;

/** The {@link Principal} whose request this is; undefined unless the handler is `@Authenticated()`. */
export const CurrentPrincipal = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<Request>().user,
);
