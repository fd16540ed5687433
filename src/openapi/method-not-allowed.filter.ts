import { Catch, Injectable, NotFoundException, type ArgumentsHost } from '@nestjs/common';
import type { Request } from 'express';
import { Config } from '../config/config.js';
import { StoreHealth } from '../database/health.js';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import { ErrorFilter, isRouteNotFound } from '../http/error.filter.js';
import { Operations } from './operations.js';

/** Responds with 405 and `Allow` where a path has operations of other methods only (RFC 9110, section 15.5.6). */
@Catch(NotFoundException)
@Injectable()
export class MethodNotAllowedFilter extends ErrorFilter {
  constructor(
    health: StoreHealth,
    private readonly config: Config,
    private readonly operations: Operations,
  ) {
    super(health);
  }

  override catch(error: NotFoundException, context: ArgumentsHost): void {
    const request = context.switchToHttp().getRequest<Request>();
    // With the global prefix, which Express takes off.
    const path = request.baseUrl + request.path;
    const methods = isRouteNotFound(error, request) ? this.operations.listMethods(path) : [];
    // A route may not match for another reason, such as its version.
    const isOtherMethod = methods.length > 0 && !methods.includes(request.method);
    super.catch(isOtherMethod ? this.createException(methods, path) : error, context);
  }

  private createException(methods: readonly string[], path: string): ApiException {
    const { docs, publicUrl = '' } = this.config;
    const allow = methods.join(', ');
    const kind = { ...ERRORS.NO_SUCH_METHOD, headers: { allow } };
    const seeDocs = docs ? `; see ${publicUrl}/docs` : '';
    return new ApiException(kind, `${kind.message}: only ${allow} ${path}${seeDocs}`);
  }
}
