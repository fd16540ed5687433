import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** Stands for all requests of destroyed connections. */
class SurplusRequest extends IncomingMessage {
  /** Node stores fields of a complete request as trailers, in place of the previous ones; others add up in `headers`. */
  override complete = true;

  /** Drops the body: Readable's own would create an Error for each part. */
  override push(): boolean {
    return false;
  }
}

/** Node itself responds to a request without Host, or past `maxRequestsPerSocket`: it would find headers that are sent. */
class SurplusResponse extends ServerResponse {
  override writeHead(): this {
    return this;
  }

  override end(): this {
    return this;
  }
}

const SURPLUS = new SurplusRequest(new Socket().destroy()).destroy();
const SURPLUS_RESPONSE = new SurplusResponse(SURPLUS);

/** Whether a request was parsed after its connection was destroyed. */
export function isSurplus(request: IncomingMessage): boolean {
  return request === SURPLUS;
}

/**
 * Options of a server: Node creates an object of both classes for each request. It parses all that it has read, thousands
 * of requests in 64 KB, after the first ones made a limit destroy their connection, and keeps these objects, some 1 KB for
 * a request, until the event loop's turn is over.
 */
export const REQUEST_CLASSES = {
  IncomingMessage: class extends IncomingMessage {
    constructor(socket: Socket) {
      if (socket.destroyed) return SURPLUS;
      super(socket);
    }
  },
  ServerResponse: class extends ServerResponse {
    constructor(...args: ConstructorParameters<typeof ServerResponse>) {
      // Node has added one for each request.
      if (args[0] === SURPLUS) return SURPLUS_RESPONSE.removeAllListeners();
      super(...args);
    }
  },
};
