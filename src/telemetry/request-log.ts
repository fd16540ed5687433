import { isIP, SocketAddress } from 'node:net';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Config } from '../config/config.js';
import { ERRORS, HTTP_EXCEPTION } from '../errors/error-codes.js';
import { formatStack } from '../errors/operator-message.js';
import {
  describeOperation,
  findRoute,
  requestEnd,
  type RequestContext,
} from '../http/request-context.js';
import { Routes } from '../http/routes.js';

/** Logs requests that have ended (docs/logging.md). Nobody injects it: it subscribes to what `http` publishes. */
@Injectable()
export class RequestLog implements OnApplicationShutdown {
  private readonly logger = new Logger('Request');

  constructor(
    private readonly config: Config,
    private readonly adapterHost: HttpAdapterHost,
    private readonly routes: Routes,
  ) {
    if (config.logRequests !== 'none') requestEnd.subscribe(this.onEnd);
  }

  onApplicationShutdown(): void {
    requestEnd.unsubscribe(this.onEnd);
  }

  /** What a subscriber throws would end the process. */
  private readonly onEnd = (message: unknown): void => {
    try {
      this.log(message as RequestContext);
    } catch (error) {
      this.logger.error('a request could not be logged', formatStack(error));
    }
  };

  private log(context: RequestContext): void {
    const { request, status, error } = context;
    // The channels are those of the whole process.
    if (request.app !== this.adapterHost.httpAdapter.getInstance()) return;
    const isSuccess = status !== undefined && status < 400;
    if (isSuccess && this.config.logRequests !== 'all') return;
    // A 405, or a refusal before routing, such as a 503, has no route yet.
    const path = findRoute(request) ?? this.routes.find(request.path)?.path;
    // The status does not decide, as a client can cause 501.
    const level = isOurFault(error, status) ? 'error' : 'log';
    const text = `${describeOperation(request, path)} ${status ?? 'no response'}`;
    this.logger[level](text, describeRequest(context, path));
  }
}

function isOurFault(error = 0, status = 0): boolean {
  return error >= ERRORS.INTERNAL.error || (error === HTTP_EXCEPTION && status >= 500);
}

/** Some proxies append the port, as Azure's do. */
const PORTED = /^(?:\[(.+)\]|(\d+(?:\.\d+){3})):\d+$/;

/** The members of a request's line (docs/logging.md); pino leaves out those that are undefined. */
function describeRequest(context: RequestContext, path: string | undefined) {
  const { request, requestId, status, error, details, startedAt, remoteAddress } = context;
  const ip = request.ip?.replace(PORTED, '$1$2') ?? '';
  return {
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
    client: simplifyAddress(isIP(ip) ? ip : remoteAddress),
  };
}

/** An IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2), as of a socket that listens on `::`, as the IPv4 address. */
function simplifyAddress(address: string | undefined): string | undefined {
  if (!address?.includes(':')) return address;
  // It has one form for each address. It refuses some that isIP() takes.
  const { address: plain = '' } = SocketAddress.parse(`[${address}]:0`) ?? {};
  return /^::ffff:(\d+\..+)$/.exec(plain)?.[1] ?? address;
}
