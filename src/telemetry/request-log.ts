import { isIP } from 'node:net';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { ERRORS, HTTP_EXCEPTION } from '../errors/error-codes.js';
import {
  describeOperation,
  findRoute,
  requestEnd,
  type RequestContext,
} from '../http/request-context.js';

export class RequestLog implements OnApplicationShutdown {
  constructor(
    private readonly logger: Logger,
    private readonly config: Config,
  ) {
    if (config.logRequests !== 'none') requestEnd.subscribe(this.onEnd);
  }

  onApplicationShutdown(): void {
    requestEnd.unsubscribe(this.onEnd);
  }

  private readonly onEnd = (message: unknown): void => {
    const context = message as RequestContext;
    const { request, status, error } = context;
    const isSuccess = status !== undefined && status < 400;
    if (isSuccess && this.config.logRequests !== 'all') return;
    // Not by the status: a client can cause 501.
    const level = isOurFault(error, status) ? 'error' : 'info';
    if (!this.logger.isLevelEnabled(level)) return;
    const line = `${describeOperation(request)} ${status ?? 'no response'}`;
    this.logger[level](describeRequest(context), line);
  };
}

function isOurFault(error = 0, status = 0): boolean {
  return error >= ERRORS.INTERNAL.error || (error === HTTP_EXCEPTION && status >= 500);
}

/** The members of a request's line (docs/logging.md); pino leaves out those that are undefined. */
function describeRequest(context: RequestContext) {
  const { request, requestId, status, error, details, startedAt, remoteAddress } = context;
  const { ip = '' } = request;
  return {
    context: 'Request',
    requestId,
    method: request.method,
    path: findRoute(request),
    status,
    error,
    durationMs: Math.round((performance.now() - startedAt) * 1_000) / 1_000,
    tokenId: request.user?.id,
    tokenName: request.user?.name,
    ...details,
    // Behind trusted proxies, the address that they name: a client may have written it.
    client: isIP(ip) ? ip : remoteAddress,
  };
}
