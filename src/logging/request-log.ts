import type { Request } from 'express';
import type { Logger } from 'pino';
import type { Principal } from '../auth/principal.js';
import { ERRORS } from '../errors/errors.js';
import type { Exchange, ExchangeObserver } from '../http/exchange.js';
import { pathOf } from '../http/path-of.js';
import { FailureLimit } from './failure-limit.js';

/** Characters of what a client or its identity provider has chosen. */
const LONGEST = 256;

/** Writes lines for requests: for each, or only for those that were not answered with success. */
export class RequestLog implements ExchangeObserver {
  private readonly failures: FailureLimit;

  /** @param all whether requests that went well have a line too */
  constructor(
    private readonly logger: Logger,
    private readonly all: boolean,
  ) {
    this.failures = new FailureLimit(logger);
  }

  onEnd(exchange: Exchange): void {
    const { status, error } = exchange;
    const hasFailed = status === undefined || status >= 400;
    if (!hasFailed && !this.all) return;
    const level = status !== undefined && status >= 500 ? 'error' : 'info';
    if (!this.logger.isLevelEnabled(level)) return;
    // A fault of the service's own always has its line.
    const isBounded = hasFailed && error !== ERRORS.INTERNAL.error;
    if (isBounded && !this.failures.admits(level, error)) return;
    const line = requestLine(exchange);
    this.logger[level](line, `${line.method} ${line.path} ${status ?? 'no answer'}`);
  }
}

/** The members of a request's line, as docs/logging.md has them; those that are undefined are left out. */
function requestLine({ request, requestId, status, error, startedAt }: Exchange) {
  const principal = request.user as Principal | undefined;
  return {
    context: 'Request',
    requestId,
    method: request.method,
    path: pathOf(request),
    status,
    error,
    durationMs: Math.round((performance.now() - startedAt) * 1_000) / 1_000,
    tokenId: principal?.id.slice(0, LONGEST),
    tokenName: principal?.name.slice(0, LONGEST),
    client: clientOf(request),
  };
}

/** The client's address, as the proxies that are trusted tell it. */
function clientOf({ socket, ip = socket.remoteAddress }: Request): string | undefined {
  return ip?.slice(0, LONGEST);
}
