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
import type { Operations } from '../openapi/operations.js';

export class RequestLog implements OnApplicationShutdown {
  constructor(
    private readonly logger: Logger,
    private readonly config: Config,
    private readonly operations: Operations,
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
    // That of a refusal before routing, such as a 503 or 405, too. Another path may contain a token.
    const [sent = ''] = request.originalUrl.split('?', 1);
    const path = findRoute(request) ?? this.operations.findTemplate(sent);
    const line = `${describeOperation(request, path)} ${status ?? 'no response'}`;
    this.logger[level](describeRequest(context, path), line);
  };
}

function isOurFault(error = 0, status = 0): boolean {
  return error >= ERRORS.INTERNAL.error || (error === HTTP_EXCEPTION && status >= 500);
}

/** The members of a request's line (docs/logging.md); pino leaves out those that are undefined. */
function describeRequest(context: RequestContext, path: string | undefined) {
  const { request, requestId, status, error, details, startedAt, remoteAddress } = context;
  const { ip = '' } = request;
  return {
    context: 'Request',
    requestId,
    method: request.method,
    path,
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
