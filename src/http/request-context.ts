import { randomUUID } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { Request, Response } from 'express';
import type { ApiException, LogMembers } from '../errors/error-codes.js';
import { redact } from '../errors/redact.js';

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- Express's types are extended like this
  namespace Express {
    interface Response {
      /** Missing in an application without the middleware of `createApp()`, as one of @nestjs/testing may be. */
      context?: RequestContext;
    }
  }
}

export class RequestContext {
  /** When the request's headers were read, in milliseconds by performance.now(). */
  readonly startedAt = performance.now();
  /** The address is read at once: Node does not know it any more once the client has left. */
  readonly remoteAddress: string | undefined;
  readonly requestId: string;
  /** The number in the Error body that was sent, or was about to be when the client left; undefined without one. */
  error: number | undefined = undefined;
  /** Members of the request's log line that the error adds. */
  details: LogMembers | undefined = undefined;
  private hasEnded = false;

  /** @param inProgress the connection's requests in progress, oldest first: this one joins them until it was answered and read */
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
    if (this.hasEnded) return;
    this.hasEnded = true;
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

/** All responses share this listener: V8 would promote a closure for each, and all that it reaches, to its old space. */
function endRequest(this: Response): void {
  this.context?.end();
}

/** Publishes each {@link RequestContext} once its response is sent, or its connection is gone. */
export const requestEnd = channel<RequestContext>('plant-store.http.end');

/** Returns the path of the matched route, such as `/plants`; undefined without a route, as another path may contain a token. */
export function findRoute({ baseUrl, route }: Request): string | undefined {
  const { path } = (route ?? {}) as { readonly path?: string };
  return path === undefined ? undefined : `${baseUrl}${path}`;
}

/** Returns method and route, such as `POST /plants`; the method alone without a route. */
export function describeOperation(request: Request, path = findRoute(request)): string {
  return [request.method, path].filter(Boolean).join(' ');
}

/** Matches the request ids that are accepted, each one word in a log. */
const REQUEST_ID = /^[\w.:@/+=-]{1,128}$/;

/** Returns the id in `X-Request-Id` if it is valid and no token, otherwise a new one. */
function chooseRequestId(header: string | string[] | undefined): string {
  const isValid =
    typeof header === 'string' && REQUEST_ID.test(header) && redact(header) === header;
  return isValid ? header : randomUUID();
}
