import { Injectable, type ExecutionContext } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { ERRORS, ApiException } from '../errors/error-codes.js';
import { InvalidTokenException } from './principal.js';

/** The credentials of RFC 6750, section 2.1; the scheme's case does not matter (RFC 9110, 11.1). */
const CREDENTIALS = /^bearer +\S/i;

/** What AuthGuard asks of a context. Passport keeps it until a full collection, so it has the header only. */
class HeaderContext {
  private readonly request: Pick<Request, 'headers' | 'user'>;

  constructor(authorization = '') {
    this.request = { headers: { authorization } };
  }

  switchToHttp() {
    return this;
  }

  getRequest() {
    return this.request;
  }

  getResponse() {
    return {};
  }
}

/** Lets a request pass whose `Authorization` header carries an active token. */
@Injectable()
export class BearerGuard extends AuthGuard('bearer') {
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const attempt = new HeaderContext(request.headers.authorization);
    await super.canActivate(attempt as unknown as ExecutionContext);
    request.user = attempt.getRequest().user;
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
