import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { ApiException, ERRORS } from '../errors/error-codes.js';

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- Passport's types are extended like this
  namespace Express {
    interface User {
      /** Stored with each plant that it creates, never reused: `token:3`, or `jwt:alice` for the `sub` alice. */
      readonly id: string;
      readonly name: string;
    }
  }
}

/** Who sent a request, in `request.user`. */
export type Principal = Express.User;

/** A token is invalid or expired. The reason is in the request's line of the log, not in the response. */
export class InvalidTokenException extends ApiException {
  /** @param principal that of the token, if known */
  constructor(reason: string, principal?: Principal) {
    const details = { tokenId: principal?.id, tokenName: principal?.name, reason };
    super(ERRORS.INVALID_TOKEN, undefined, { details });
  }
}

/** The {@link Principal} whose request this is; undefined unless the handler is `@Authenticated()`. */
export const CurrentPrincipal = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<Request>().user,
);
