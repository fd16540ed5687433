import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Request } from 'express';

/**
 * A queue for turns of the event loop. Node accepts one connection a turn: work that clients can cause at will takes turns,
 * so that new clients are not kept waiting.
 */
class Turns {
  private last: Promise<unknown> = Promise.resolve();

  /** Resolves after turns of the event loop that this request has alone in the queue; earlier if its client has left. */
  take({ socket }: Pick<Request, 'socket'>, count = 1): Promise<unknown> {
    for (let turn = 0; turn < count; turn++)
      this.last = this.last.then(() => (socket.destroyed ? undefined : nextTurn()));
    return this.last;
  }
}

/** Two queues: a refusal must not wait behind the bodies of others. */
export const [refusals, bodies] = [new Turns(), new Turns()];
