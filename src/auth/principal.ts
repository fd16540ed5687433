import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { ApiException, ERRORS, type LogMembers } from '../errors/error-codes.js';

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

/** The members of a request's line in the log that name the principal of a refused token. */
export function toLogMembers({ id, name }: Principal): LogMembers {
  return { tokenId: id, tokenName: name };
}

/** A token is invalid or expired. The reason is in the request's line of the log, not in the response. */
export class InvalidTokenException extends ApiException {
  /** @param principal that of the token, if known */
  constructor(reason: string, principal?: Principal) {
    const members = principal && toLogMembers(principal);
    super(ERRORS.INVALID_TOKEN, undefined, { details: { ...members, reason } });
  }
}

/** The {@link Principal} whose request this is; undefined unless the handler is `@Authenticated()`. */
export const CurrentPrincipal = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<Request>().user,
);
