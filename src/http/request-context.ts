// A create, step 2 of 13: the adapter makes the request's context, which ends after step 13.
import { randomUUID } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { Request, Response } from 'express';
import type { LogMembers } from '../errors/error-codes.js';
import { getConnection } from './limits/connection.js';
import { redactChosen } from './redact.js';

/** A request and its response. */
export class RequestContext {
  /** When the request's headers were read, by performance.now(), in milliseconds. */
  readonly startedAt = performance.now();
  /** Names the request in the log, in traces and to the client. */
  readonly requestId: string;
  /** The `error` member of the response's body; undefined for successful responses. */
  error: number | undefined = undefined;
  /** What the error says for the log. */
  details: LogMembers | undefined = undefined;
  private isOver = false;

  constructor(
    readonly request: Request,
    readonly response: Response,
  ) {
    this.requestId = chooseRequestId(request.headers['x-request-id']);
    response.context = this;
    response.on('close', endRequest);
  }

  /** Called when the response is sent, or when the client has left. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    getConnection(this.request).remove(this.response);
    if (requestEnd.hasSubscribers) requestEnd.publish(this);
  }

  /** The status of the response; undefined if the connection was gone before there was one. */
  get status(): number | undefined {
    return this.response.headersSent ? this.response.statusCode : undefined;
  }
}

/** Publishes each {@link RequestContext} as it begins, and is the context of all that is done for it. */
export const requestStart = channel<RequestContext, unknown>('plant-store.http.start');

/** Publishes each {@link RequestContext} once its response is sent, or its connection is gone. */
export const requestEnd = channel<RequestContext>('plant-store.http.end');

/** One function for all responses: a closure for each would cost. */
function endRequest(this: Response): void {
  this.context.end();
}

/** The path as it is logged, without its query. Requests that are refused at once have no `originalUrl` of Express. */
export function describePath({ url = '', originalUrl = url }: Partial<Request>): string {
  const [path = ''] = originalUrl.split('?', 1);
  return redactChosen(path);
}

/** What a client may name its request: nothing that could pass for more than a word in a log. */
const REQUEST_ID = /^[\w.:@/+=-]{1,128}$/;

/** The request's id: that of its `X-Request-Id` if that is valid and no token, else a new one. */
export function chooseRequestId(header: string | string[] | undefined): string {
  const isValid =
    typeof header === 'string' && REQUEST_ID.test(header) && redactChosen(header) === header;
  return isValid ? header : randomUUID();
}
