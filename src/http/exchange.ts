import type { ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import { requestIdOf } from './request-id.js';

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

  /** @param onEnd is told of the end, once */
  constructor(
    readonly request: Request,
    readonly response: Response,
    private readonly onEnd: (exchange: Exchange) => void,
  ) {
    this.requestId = requestIdOf(request.headers['x-request-id']);
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

/** One who looks on: the log, the metrics. What it does is on the path of every request. */
export interface ExchangeObserver {
  /** The answer is sent, or the connection is gone. */
  onEnd(exchange: Exchange): void;
}

const EXCHANGE = Symbol('exchange');
type Observed = ServerResponse & { [EXCHANGE]: Exchange };

/** From here on {@link exchangeOf} an exchange's answer is this. */
export function tie(exchange: Exchange): void {
  (exchange.response as Response & Observed)[EXCHANGE] = exchange;
}

/** The exchange that an answer belongs to. */
export function exchangeOf(response: ServerResponse): Exchange {
  return (response as Observed)[EXCHANGE];
}
