import { Injectable, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { Config } from '../config/config.js';
import { ERRORS, ApiException, InvalidTokenException } from '../errors/error-codes.js';
import type { Principal } from './principal.js';
import { RequiredScope, toProviderWord, type Scope } from './scopes.js';

/** The credentials of RFC 6750, section 2.1; the scheme's case does not matter (RFC 9110, 11.1). */
const CREDENTIALS = /^bearer +\S/i;

/** Lets a request pass whose `Authorization` header carries an active token that has the scope of the operation. */
@Injectable()
export class BearerGuard extends AuthGuard('bearer') {
  constructor(
    private readonly reflector: Reflector,
    private readonly config: Config,
  ) {
    super();
  }

  /**
   * Passport keeps what it is given until a full collection, so it is given the header only.
   * @throws ApiException NO_TOKEN, INSUFFICIENT_SCOPE; InvalidTokenException; what the strategy throws
   */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const { authorization = '' } = request.headers;
    const shown: Pick<Request, 'headers' | 'user'> = { headers: { authorization } };
    const http = { getRequest: () => shown, getResponse: () => ({}) };
    await super.canActivate({ switchToHttp: () => http } as ExecutionContext);
    request.user = shown.user;
    this.assertScope(context, shown.user);
    return true;
  }

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

  /** An operation without a scope is a mistake of the code: nobody may use it. The challenge is that of RFC 6750, section 3. */
  private assertScope(context: ExecutionContext, principal: Principal | undefined): void {
    const targets = [context.getHandler(), context.getClass()];
    const scope = this.reflector.getAllAndOverride<Scope | undefined>(RequiredScope, targets);
    if (scope === undefined) throw new Error('the operation names no scope: @Authenticated(SCOPE)');
    if (principal?.scopes.includes(scope)) return;
    const kind = ERRORS.INSUFFICIENT_SCOPE;
    const word = toProviderWord(scope, this.config.authScope);
    const challenge = `${kind.headers['www-authenticate']}, scope="${word}"`;
    const headers = { 'www-authenticate': challenge };
    throw new ApiException({ ...kind, headers }, `${kind.message} ${word}`);
  }
}
