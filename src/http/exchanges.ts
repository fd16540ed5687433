import type { Request, Response } from 'express';
import { connectionOf } from './connection.js';
import { Exchange, exchangeOf, tie, type ExchangeObserver } from './exchange.js';

/** The requests under way, and those who are told once each is answered. */
export class Exchanges {
  /** Requests that have come in, and whose answer is not yet sent. */
  underWay = 0;

  constructor(private readonly observers: readonly ExchangeObserver[]) {}

  /** A request has come in. */
  begin(request: Request, response: Response): Exchange {
    const exchange = new Exchange(request, response, this.onEnd);
    this.underWay += 1;
    tie(exchange);
    connectionOf(request).begin(exchange);
    response.on('close', endExchange);
    return exchange;
  }

  private readonly onEnd = (exchange: Exchange): void => {
    this.underWay -= 1;
    connectionOf(exchange.request).end(exchange);
    for (const observer of this.observers) observer.onEnd(exchange);
  };
}

/** One function for all answers: a closure for each would cost. */
function endExchange(this: Response): void {
  exchangeOf(this).end();
}
