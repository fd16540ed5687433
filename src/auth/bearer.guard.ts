import { Injectable, type ExecutionContext } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { ERRORS, ApiException, InvalidTokenException } from '../errors/error-codes.js';
import { Stopwatch } from './stopwatch.js';

/** The credentials of RFC 6750, section 2.1; the scheme's case does not matter (RFC 9110, 11.1). */
const CREDENTIALS = /^bearer +\S/i;

/** For how long a verified token needs no further look: that of a request whose body came with its headers. */
const VERIFIED_FOR_MS = 500;

/** Lets a request pass whose `Authorization` header carries an active token. */
@Injectable()
export class BearerGuard extends AuthGuard('bearer') {
  /** Passport keeps what it is given until a full collection: give it the header only. */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    if (request.verified && request.verified.elapsedMs < VERIFIED_FOR_MS) return true;
    const { authorization = '' } = request.headers;
    const shown: Pick<Request, 'headers' | 'user'> = { headers: { authorization } };
    const http = { getRequest: () => shown, getResponse: () => ({}) };
    await super.canActivate({ switchToHttp: () => http } as ExecutionContext);
    request.user = shown.user;
    request.verified = new Stopwatch();
    return true;
  }

  /** @throws ApiException NO_TOKEN; InvalidTokenException; what the strategy has thrown */
  override handleRequest<User>(
    error: Error | null,
    principal: User | false,
    _info: unknown,
    context: ExecutionContext,
  ): User {
    if (error) throw error;
    if (principal) return principal;
    const { authorization = '' } = context.switchToHttp().getRequest<Request>().headers;
    if (CREDENTIALS.test(authorization))
      throw new InvalidTokenException('malformed: more than a token after Bearer');
    throw new ApiException(ERRORS.NO_TOKEN);
  }
}
