/**
 * The requests in progress on each connection. A client may pipeline, which means to send requests before it has the
 * responses: Node would give all of them to the service at once, so that one connection could have thousands in progress.
 *
 * 1. The first middleware gives a request its context, which adds itself to the list of its connection. It removes itself once
 *    the response is sent and all of the request is read.
 * 2. With two requests in the list, a further one destroys the connection, and with it the responses. A client that does not
 *    pipeline may have two, as its next request can arrive before Node reports that the former response was sent.
 * 3. A request after a response with `Connection: close` is not processed (RFC 9112, section 9.6), as its client would not
 *    learn the outcome. In its place the list has the request before it a second time.
 * 4. A connection whose last response says `close` is closed gently: Node reads and drops what still comes until the client
 *    closes its side, for a second at most. If the service closed it with bytes unread, the system would send a reset, which
 *    takes the response from a client that is still sending.
 * 5. Once the service stops, the last response of each connection closes it.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { RequestHandler } from 'express';
import { RequestContext } from './request-context.js';

export const MAX_PIPELINED = 2;
/** How long a client may take to read its last response and to close its side of the connection. */
const CLOSE_TIMEOUT_MS = 1_000;

export function closeGently(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

@Injectable()
export class Connections {
  private readonly open = new Map<Duplex, RequestContext[]>();
  private isEnding = false;

  /** Lists the requests of a connection that have no complete response, oldest first. */
  listInProgress(socket: Duplex): readonly RequestContext[] {
    return this.open.get(socket) ?? [];
  }

  /** How many connections are open on which a request was read. */
  get count(): number {
    return this.open.size;
  }

  /** From now on, the last response of each connection ends it. */
  closeAfterResponses(): void {
    this.isEnding = true;
    for (const requests of this.open.values()) {
      const last = requests.at(-1)?.response;
      if (last && !last.headersSent) last.setHeader('connection', 'close');
    }
  }

  /** Creates the first middleware: every request behind it has a context, and its response an id. */
  createContext(): RequestHandler {
    return (request, response, next) => {
      const { socket } = request;
      const requests = this.open.get(socket) ?? this.track(socket);
      const last = requests.at(-1);
      const isClosing = !socket.writable || last?.response.getHeader('connection') === 'close';
      // This closes the socket too. Unlike socket.destroy(), it drops a body that is still arriving.
      if (requests.length === MAX_PIPELINED || (isClosing && !last)) return void request.destroy();
      if (isClosing && last) {
        // Takes a place, so that a third request still ends the connection.
        requests.push(last);
        return void request.resume();
      }
      const context = new RequestContext(request, response, requests);
      response.setHeader('x-request-id', context.requestId).setHeader('cache-control', 'no-store');
      if (this.isEnding) response.setHeader('connection', 'close');
      next();
    };
  }

  private track(socket: Socket): RequestContext[] {
    const requests: RequestContext[] = [];
    this.open.set(socket, requests);
    // Node calls this after a response that closes the connection.
    socket.destroySoon = () => closeGently(socket);
    socket.once('close', () => {
      this.open.delete(socket);
      // Node does not always emit `close` for a response that waits for another one to be sent.
      for (const context of [...requests]) context.end();
    });
    return requests;
  }
}
