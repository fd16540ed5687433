import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { RequestHandler } from 'express';
import { RequestContext } from './request-context.js';

/** Maximum number of requests in progress on a connection; one more ends it. A client that does not pipeline has two. */
export const MAX_PIPELINED = 2;
/** How long a client may take to read its last response and to close its side of the connection. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Goes on reading: a reset would take the response from a client that is still sending (RFC 9112, section 9.6). */
export function closeGently(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** The requests in progress of each connection. */
@Injectable()
export class Connections {
  private readonly open = new Map<Duplex, RequestContext[]>();
  private isEnding = false;

  /** Lists the requests of a connection that have no complete response, oldest first. */
  listInProgress(socket: Duplex): readonly RequestContext[] {
    return this.open.get(socket) ?? [];
  }

  /** From now on, the last response of each connection ends it. */
  endAll(): void {
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
      // Nothing is processed behind such a response (RFC 9112, section 9.6).
      const isOver = !socket.writable || last?.response.getHeader('connection') === 'close';
      // Also closes the socket; unlike socket.destroy(), it drops a body that is still arriving.
      if (requests.length === MAX_PIPELINED || (isOver && !last)) request.destroy();
      if (socket.destroyed) return;
      if (isOver && last) {
        // Counts against MAX_PIPELINED without being processed.
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
    // Node calls it behind a response that closes the connection.
    socket.destroySoon = () => closeGently(socket);
    socket.once('close', () => {
      this.open.delete(socket);
      // Node does not always emit `close` for responses that are queued behind another one.
      for (const context of [...requests]) context.end();
    });
    return requests;
  }
}
