import type { OnApplicationShutdown } from '@nestjs/common';
import type { Request } from 'express';
import type { Logger } from 'pino';
import type { Principal } from '../auth/principal.js';
import type { Config } from '../config/config.js';
import { ERRORS } from '../errors/errors.js';
import { exchangeEnd, pathOf, type Exchange } from '../http/exchange.js';
import { redactChosen } from '../http/redact.js';

/** Characters of what an identity provider or an operator has chosen. */
const MAX_VALUE_LENGTH = 256;

/** Writes lines for requests: for each, or only for those that were not answered with success. */
export class RequestLog implements OnApplicationShutdown {
  private readonly failures: FailureLimit;

  /** @param config whether each request has a line, or only those that failed */
  constructor(
    private readonly logger: Logger,
    private readonly config: Config,
  ) {
    this.failures = new FailureLimit(logger);
    if (config.logRequests !== 'none') exchangeEnd.subscribe(this.onEnd);
  }

  onApplicationShutdown(): void {
    exchangeEnd.unsubscribe(this.onEnd);
  }

  private readonly onEnd = (message: unknown): void => {
    const exchange = message as Exchange;
    const { status, error } = exchange;
    const hasFailed = status === undefined || status >= 400;
    if (!hasFailed && this.config.logRequests !== 'all') return;
    // Not by the status: a client alone can cause 501.
    const level = error !== undefined && error >= ERRORS.INTERNAL.error ? 'error' : 'info';
    if (!this.logger.isLevelEnabled(level)) return;
    // A fault of the service's own always has its line.
    const isBounded = hasFailed && error !== ERRORS.INTERNAL.error;
    if (isBounded && !this.failures.admits(level, error)) return;
    const line = requestLine(exchange);
    this.logger[level](line, `${line.method} ${line.path} ${status ?? 'no answer'}`);
  };
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
    tokenId: principal?.id.slice(0, MAX_VALUE_LENGTH),
    tokenName: principal?.name.slice(0, MAX_VALUE_LENGTH),
    client: clientOf(request),
  };
}

/** The client's address, as the proxies that are trusted tell it. */
function clientOf({ ip }: Request): string | undefined {
  return ip && redactChosen(ip);
}

/** Lines for each error number. */
export const MAX_LINES_PER_SECOND = 10;
const SECOND = 1_000;

type Level = 'info' | 'error';

/** The failures of one error number in the second that runs. */
interface Failures {
  readonly level: Level;
  count: number;
}

/**
 * Bounds the lines of requests that failed, which unauthenticated clients cause too: they could fill the disk, and
 * a line costs more than to refuse an overload. What is beyond is summed up, for each error number.
 */
export class FailureLimit {
  private readonly failures = new Map<number | undefined, Failures>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly logger: Logger) {}

  /** Whether a request that failed has a line of its own; if not, it is in the sum of this second. */
  admits(level: Level, error: number | undefined): boolean {
    let failures = this.failures.get(error);
    if (!failures) this.failures.set(error, (failures = { level, count: 0 }));
    failures.count += 1;
    if (!this.timer) this.begin();
    return failures.count <= MAX_LINES_PER_SECOND;
  }

  private begin(): void {
    this.timer = setTimeout(this.end, SECOND).unref();
    // The sums of the last second are not lost.
    process.once('exit', this.end);
  }

  private readonly end = (): void => {
    process.off('exit', this.end);
    this.timer = undefined;
    for (const [error, { level, count }] of this.failures) {
      const line = { context: 'Request', error, requests: count - MAX_LINES_PER_SECOND };
      if (line.requests > 0) this.logger[level](line, 'more requests failed, without lines');
    }
    this.failures.clear();
  };
}
