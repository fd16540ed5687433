import { randomUUID } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { Request, Response } from 'express';
import type { ApiException, LogMembers } from '../errors/error-codes.js';
import { redact } from '../errors/operator-message.js';

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- Express's types are extended like this
  namespace Express {
    interface Response {
      /** Missing in an application without the middleware of `createApp()`, as those of @nestjs/testing. */
      context?: RequestContext;
    }
  }
}

export class RequestContext {
  /** When the request's headers were read, by performance.now(), in milliseconds. */
  readonly startedAt = performance.now();
  /** Read at once: Node does not know it once the client has left. */
  readonly remoteAddress: string | undefined;
  readonly requestId: string;
  /** The `error` member of the Error body that is sent, or would have been had the client stayed; else undefined. */
  error: number | undefined = undefined;
  /** Members of the request's log line that the error adds. */
  details: LogMembers | undefined = undefined;
  private isOver = false;

  /** @param inProgress requests of this connection still in progress, oldest first; removed when answered and read */
  constructor(
    readonly request: Request,
    readonly response: Response,
    private readonly inProgress: RequestContext[],
  ) {
    this.requestId = chooseRequestId(request.headers['x-request-id']);
    this.remoteAddress = request.socket.remoteAddress;
    inProgress.push(this);
    response.context = this;
    response.on('close', endRequest);
  }

  /** Called before an Error body is sent. */
  fail({ kind, details }: ApiException): void {
    [this.error, this.details] = [kind.error, details];
    // The rest of the body would stay in memory until the client has read the response.
    this.request.resume();
  }

  /** Called when the response is sent, or when the client has left. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    // The rest of the request is still read, and may be late or invalid.
    if (this.request.complete) this.remove();
    else this.request.once('end', () => this.remove()).resume();
    requestEnd.publish(this);
  }

  private remove(): void {
    this.inProgress.splice(this.inProgress.indexOf(this), 1);
  }

  /** The status of the response; undefined if the connection was gone before there was one. */
  get status(): number | undefined {
    return this.response.headersSent ? this.response.statusCode : undefined;
  }
}

/** Shared by all responses: V8 would promote a closure for each, and all that it reaches, to its old space. */
function endRequest(this: Response): void {
  this.context?.end();
}

/** Publishes each {@link RequestContext} once its response is sent, or its connection is gone. */
export const requestEnd = channel<RequestContext>('plant-store.http.end');

/** The path of the matched route, such as `/plants`. Undefined without one: another path may contain a token. */
export function findRoute({ baseUrl, route }: Request): string | undefined {
  const { path } = (route ?? {}) as { readonly path?: string };
  return path === undefined ? undefined : `${baseUrl}${path}`;
}

/** `POST /plants`; the method alone without a route. */
export function describeOperation(request: Request, path = findRoute(request)): string {
  return [request.method, path].filter(Boolean).join(' ');
}

/** The request ids that are accepted: one word in a log. */
const REQUEST_ID = /^[\w.:@/+=-]{1,128}$/;

/** The id in `X-Request-Id` if it is valid and no token, else a new one. */
function chooseRequestId(header: string | string[] | undefined): string {
  const isValid =
    typeof header === 'string' && REQUEST_ID.test(header) && redact(header) === header;
  return isValid ? header : randomUUID();
}
