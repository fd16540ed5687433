import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Request } from 'express';

/**
 * A queue for turns of the event loop, each of which has one task of this queue. Node accepts one connection a turn: if
 * clients cause work at will, and all of it ran in one turn, new clients would wait.
 */
class Turns {
  private last: Promise<unknown> = Promise.resolve();

  /** Resolves after so many turns that this request has alone; earlier if its client has left. */
  take({ socket }: Pick<Request, 'socket'>, count = 1): Promise<unknown> {
    for (let turn = 0; turn < count; turn++)
      this.last = this.last.then(() => (socket.destroyed ? undefined : nextTurn()));
    return this.last;
  }
}

/** Refusals have a queue of their own: they must not wait for the bodies of others. */
export const [refusals, bodies] = [new Turns(), new Turns()];
