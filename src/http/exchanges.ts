import type { Request, Response } from 'express';
import { beginExchange, exchangeOf, type Exchange, type ExchangeObserver } from './exchange.js';

/** The requests under way, and those who are told once each is answered. */
export class Exchanges {
  /** Requests that have come in, and whose answer is not yet sent. */
  underWay = 0;
  /** One function for all answers: a closure for each would cost. */
  private readonly onClose: (this: Response) => void;

  constructor(observers: readonly ExchangeObserver[]) {
    const end = (exchange: Exchange): void => {
      this.underWay -= 1;
      for (const observer of observers) observer.onEnd(exchange);
    };
    this.onClose = function () {
      end(exchangeOf(this));
    };
  }

  /** A request has come in. */
  begin(request: Request, response: Response): Exchange {
    this.underWay += 1;
    response.on('close', this.onClose);
    return beginExchange(request, response);
  }
}
