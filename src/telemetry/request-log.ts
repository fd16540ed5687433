import type { OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { ERRORS, HTTP_EXCEPTION } from '../errors/error-codes.js';
import { requestEnd, describePath, type RequestContext } from '../http/request-context.js';
import { redactChosen } from '../errors/redact.js';

/** Logs requests: each, or only those that failed. */
export class RequestLog implements OnApplicationShutdown {
  private readonly failures: FailureLimit;

  /** @param config whether each request has a line, or only those that failed */
  constructor(
    private readonly logger: Logger,
    private readonly config: Config,
  ) {
    this.failures = new FailureLimit(logger);
    if (config.logRequests !== 'none') requestEnd.subscribe(this.onEnd);
  }

  onApplicationShutdown(): void {
    requestEnd.unsubscribe(this.onEnd);
  }

  private readonly onEnd = (message: unknown): void => {
    const context = message as RequestContext;
    const { status, error } = context;
    const hasFailed = status === undefined || status >= 400;
    if (!hasFailed && this.config.logRequests !== 'all') return;
    // Not by the status: a client can cause 501.
    const level = isOurFault(error, status) ? 'error' : 'info';
    if (!this.logger.isLevelEnabled(level)) return;
    // A fault of the service itself always has its line.
    const isBounded = hasFailed && error !== ERRORS.INTERNAL.error;
    if (isBounded && !this.failures.admits(level, error)) return;
    const line = describeRequest(context);
    this.logger[level](line, `${line.method} ${line.path} ${status ?? 'no response'}`);
  };
}

function isOurFault(error = 0, status = 0): boolean {
  return error >= ERRORS.INTERNAL.error || (error === HTTP_EXCEPTION && status >= 500);
}

/** The members of a request's line (docs/logging.md); pino leaves out those that are undefined. */
function describeRequest(context: RequestContext) {
  const { request, requestId, status, error, details, startedAt, remoteAddress } = context;
  const ip = request.ip ?? remoteAddress;
  return {
    context: 'Request',
    requestId,
    method: request.method,
    path: describePath(request),
    status,
    error,
    durationMs: Math.round((performance.now() - startedAt) * 1_000) / 1_000,
    tokenId: request.user?.id,
    tokenName: request.user?.name,
    ...details,
    // Behind trusted proxies, the address that they name.
    client: ip && redactChosen(ip),
  };
}

type FailureLevel = 'info' | 'error';

/** For each error number. */
export const MAX_LINES_PER_SECOND = 10;

/**
 * Bounds the lines of requests that failed. Unauthenticated clients could fill the disk with them, and a
 * line costs more than to refuse an overload. The others are summed up for each error number.
 */
export class FailureLimit {
  /** The failures of the current second by their error number. */
  private readonly failures = new Map<number | undefined, { level: FailureLevel; count: number }>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly logger: Logger) {}

  /** Whether a request that failed has a line of its own; otherwise it is part of this second's sum. */
  admits(level: FailureLevel, error: number | undefined): boolean {
    let failures = this.failures.get(error);
    if (!failures) this.failures.set(error, (failures = { level, count: 0 }));
    failures.count += 1;
    if (!this.timer) {
      this.timer = setTimeout(this.end, 1_000).unref();
      // The sums of the last second are not lost.
      process.once('exit', this.end);
    }
    return failures.count <= MAX_LINES_PER_SECOND;
  }

  private readonly end = (): void => {
    process.off('exit', this.end);
    this.timer = undefined;
    for (const [error, { level, count }] of this.failures) {
      const requests = count - MAX_LINES_PER_SECOND;
      const line = { context: 'Request', error, requests };
      if (requests > 0) this.logger[level](line, `further failures were not logged (${requests})`);
    }
    this.failures.clear();
  };
}
