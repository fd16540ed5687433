import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** Size to which parts of a body are merged. */
const PART_BYTES = 1_024;

/** A request that merges the small parts of its body: each costs Node 300 bytes, and a client may send one for each byte. */
export class MergingRequest extends IncomingMessage {
  private merged: Buffer | undefined = undefined;
  private size = 0;

  override push(part: Buffer | null): boolean {
    const isWhole = part?.length === Number(this.headers['content-length']);
    if (part && !isWhole && this.size + part.length <= PART_BYTES) {
      // A part of Node's buffer pool would keep the whole pool in memory.
      this.merged ??= Buffer.allocUnsafeSlow(PART_BYTES);
      this.size += part.copy(this.merged, this.size);
      return true;
    }
    if (this.merged) super.push(this.merged.subarray(0, this.size));
    [this.merged, this.size] = [undefined, 0];
    return super.push(part);
  }
}

/** Stands for all requests that are parsed after their connection was destroyed. */
class SurplusRequest extends MergingRequest {
  /** Node stores fields of a complete request as trailers, in place of the previous ones; others add up in `headers`. */
  override complete = true;

  /** Drops the body: Readable's own would create an Error for each part. */
  override push(): boolean {
    return false;
  }
}

const SURPLUS = new SurplusRequest(new Socket().destroy()).destroy();
const SURPLUS_RESPONSE = new ServerResponse(SURPLUS);

/**
 * Options of a server: Node creates an object of both classes for each request. It parses all that it has read, thousands
 * of requests in 64 KB, after the first ones made a limit destroy their connection, and keeps these objects, some 1 KB for
 * a request, until the event loop's turn is over.
 */
export const REQUEST_CLASSES = {
  IncomingMessage: class extends MergingRequest {
    constructor(socket: Socket) {
      if (socket.destroyed) return SURPLUS;
      super(socket);
    }
  } as typeof IncomingMessage,
  ServerResponse: class extends ServerResponse {
    constructor(...args: ConstructorParameters<typeof ServerResponse>) {
      // Node has added a listener for each request.
      if (args[0] === SURPLUS) return SURPLUS_RESPONSE.removeAllListeners();
      super(...args);
    }
  },
};
