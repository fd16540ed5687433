import { randomUUID } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import { getConnection } from './connection.js';
import { redactChosen } from './redact.js';

const NONE: readonly string[] = [];

/** A request and its answer. */
export class Exchange {
  /** When the request's headers were read, by performance.now(), in milliseconds. */
  readonly startedAt = performance.now();
  /** What tells this request from all others, in the log, in traces and to the client. */
  readonly requestId: string;
  /** The `error` member of the answer's body, where it is an Error. */
  error: number | undefined = undefined;
  /**
   * Headers that the answer carries besides, names and values in turn. Not by response.setHeader(), which
   * makes Node check and merge all of them one by one.
   */
  headers: readonly string[] = NONE;
  private isOver = false;

  /** @param onEnd is called at the end, once */
  constructor(
    readonly request: Request,
    readonly response: Response,
    private readonly onEnd: (exchange: Exchange) => void,
  ) {
    this.requestId = chooseRequestId(request.headers['x-request-id']);
  }

  /** The answer is sent, or nobody is there any more to read it. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.onEnd(this);
  }

  /** The status of the answer; undefined where the connection was gone before there was one. */
  get status(): number | undefined {
    return this.response.headersSent ? this.response.statusCode : undefined;
  }
}

/** Publishes each {@link Exchange} as it begins, and is the context of all that is done for it. */
export const exchangeStart = channel<Exchange, unknown>('plant-store.http.start');

/** Publishes each {@link Exchange} once its answer is sent, or its connection is gone. */
export const exchangeEnd = channel<Exchange>('plant-store.http.end');

const EXCHANGE = Symbol('exchange');
type Observed = ServerResponse & { [EXCHANGE]: Exchange };

/** The exchange that an answer belongs to. */
export function getExchange(response: ServerResponse): Exchange {
  return (response as Observed)[EXCHANGE];
}

/** The requests in flight. */
export class Exchanges {
  /** Requests that have come in, and whose answer is not yet sent. */
  inFlight = 0;

  /** A request has come in. */
  begin(request: Request, response: Response): Exchange {
    const exchange = new Exchange(request, response, this.onEnd);
    this.inFlight += 1;
    (response as Response & Observed)[EXCHANGE] = exchange;
    getConnection(request).begin(exchange);
    response.on('close', endExchange);
    return exchange;
  }

  private readonly onEnd = (exchange: Exchange): void => {
    this.inFlight -= 1;
    getConnection(exchange.request).end(exchange);
    if (exchangeEnd.hasSubscribers) exchangeEnd.publish(exchange);
  };
}

/** One function for all answers: a closure for each would cost. */
function endExchange(this: Response): void {
  getExchange(this).end();
}

/** A request that was refused at once never was Express's, which sets the other. */
type Sent = Pick<Request, 'url'> & Partial<Pick<Request, 'originalUrl'>>;

/** The path as it is logged, without its query. */
export function describePath({ url, originalUrl = url }: Sent): string {
  const [path = ''] = originalUrl.split('?', 1);
  return redactChosen(path);
}

/** What a client may name its request: nothing that could pass for more than a word in a log. */
const SANE = /^[\w.:@/+=-]{1,128}$/;

/** The request's id: that of its `X-Request-Id` where it is sane, else a new one. */
export function chooseRequestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && isSane(header) ? header : randomUUID();
}

/** A token that was taken for an id would go to the collector of traces, and back in the answer. */
function isSane(id: string): boolean {
  return SANE.test(id) && redactChosen(id) === id;
}
