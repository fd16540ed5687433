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
  /** The `error` member of the response's body; undefined for successful responses. */
  error: number | undefined = undefined;
  /** Members of the request's log line that the error adds. */
  details: LogMembers | undefined = undefined;
  /** Bytes of the body once it is read. */
  bodyLength = 0;
  /** Whether the response is sent, or the client has left. */
  isOver = false;
  private rawStatus: number | undefined = undefined;

  /** @param ofConnection the requests of its connection, oldest first: until it has a response and is complete */
  constructor(
    readonly request: Request,
    readonly response: Response,
    private readonly ofConnection: RequestContext[],
  ) {
    this.requestId = chooseRequestId(request.headers['x-request-id']);
    this.remoteAddress = request.socket.remoteAddress;
    ofConnection.push(this);
    response.context = this;
    response.on('close', endRequest);
  }

  /** Called as an Error body is sent. @param rawStatus if past Node's response: what handlers still send is lost */
  fail({ kind, details }: ApiException, rawStatus?: number): void {
    // The rest of the body would stay in memory until the client has read the response.
    this.request.resume();
    if (this.rawStatus !== undefined) return;
    [this.error, this.details, this.rawStatus] = [kind.error, details, rawStatus];
  }

  /** Called when the response is sent, or when the client has left. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    // The rest of the request is still read, and may be late or invalid.
    if (this.request.complete) this.remove();
    else this.request.once('end', () => this.remove()).resume();
    if (requestEnd.hasSubscribers) requestEnd.publish(this);
  }

  /** Whether the client may have the whole response: over TLS, it can before `isOver`. */
  get isSent(): boolean {
    return this.response.writableEnded && this.response.socket !== null;
  }

  /** @see estimateSize */
  estimateSize(): number {
    return estimateSize(this.request, this.bodyLength);
  }

  private remove(): void {
    this.ofConnection.splice(this.ofConnection.indexOf(this), 1);
  }

  /** The status of the response; undefined if the connection was gone before there was one. */
  get status(): number | undefined {
    return this.rawStatus ?? (this.response.headersSent ? this.response.statusCode : undefined);
  }
}

/** Estimates a request's bytes in memory: Node keeps each header twice, and the response may repeat the body. */
export function estimateSize(request: Request, bodyLength = 0): number {
  const { headers, rawHeaders, originalUrl: url, readableLength } = request;
  const head = rawHeaders.reduce((sum, text) => sum + text.length, url.length);
  const chunked = Math.max(MIN_CHUNKED_SIZE, bodyLength, readableLength);
  const body = 'transfer-encoding' in headers ? chunked : Number(headers['content-length'] ?? 0);
  return BASE_SIZE + FIELD_SIZE * (rawHeaders.length / 2) + 2 * head + body;
}

/** Node's objects for a request and its response, and for each header field. */
const [BASE_SIZE, FIELD_SIZE] = [3_072, 128];
/** What a chunked body counts as while its size is unknown. */
const MIN_CHUNKED_SIZE = 16 * 1024;

/** Shared by all responses: V8 would promote a closure for each, and all that it reaches, to its old space. */
function endRequest(this: Response): void {
  this.context?.end();
}

/** Publishes each {@link RequestContext} as it begins, and runs the request within the channel's stores. */
export const requestStart = channel<RequestContext, unknown>('plant-store.http.start');

/** Publishes each {@link RequestContext} once its response is sent, or its connection is gone. */
export const requestEnd = channel<RequestContext>('plant-store.http.end');

/** The path of the matched route, such as `/plants`. Undefined without one: another path may contain a token. */
export function findRoute({ baseUrl, route }: Request): string | undefined {
  const { path } = (route ?? {}) as { readonly path?: string };
  return path === undefined ? undefined : `${baseUrl}${path}`;
}

/** `POST /plants`; the method alone without a path. */
export function describeOperation(request: Request, path = findRoute(request)): string {
  return path === undefined ? request.method : `${request.method} ${path}`;
}

/** The request ids that are accepted: one word in a log. */
const REQUEST_ID = /^[\w.:@/+=-]{1,128}$/;

/** The id in `X-Request-Id` if it is valid and no token, else a new one. */
export function chooseRequestId(header: string | string[] | undefined): string {
  const isValid =
    typeof header === 'string' && REQUEST_ID.test(header) && redact(header) === header;
  return isValid ? header : randomUUID();
}
