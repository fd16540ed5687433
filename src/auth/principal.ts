import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { ApiException, ERRORS, type LogMembers } from '../errors/error-codes.js';

/** The sender of a request, in `request.user`. */
export interface Principal {
  /**
   * Kept with each plant that it creates, and never given to anyone else: `token:3` is the token
   * whose id is 3, `jwt:alice` whoever the identity provider calls `alice` (`sub`).
   */
  readonly id: string;
  /** What an operator calls it, for the log. */
  readonly name: string;
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- Passport's types are extended like this
  namespace Express {
    // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- what Passport puts into `request.user`
    interface User extends Principal {}
  }
}

/** The members of a request's line in the log that name the holder of a refused token. */
export function describeHolder({ id, name }: Principal): LogMembers {
  return { tokenId: id, tokenName: name };
}

/** A token is invalid or expired. Its client is not told why; the request's line in the log says it. */
export class InvalidTokenException extends ApiException {
  /** @param holder members of that line which tell whose the token is, as far as that is known */
  constructor(reason: string, holder?: LogMembers) {
    super(ERRORS.INVALID_TOKEN, undefined, { details: { ...holder, reason } });
  }
}

/** The {@link Principal} whose request this is; undefined unless the handler is `@Authenticated()`. */
export const Sender = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<Request>().user,
);
