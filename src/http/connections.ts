import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as TcpServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { RequestHandler } from 'express';
import { Config } from '../config/config.js';
import { RequestContext } from './request-context.js';

/** Maximum number of requests in progress on a connection; one more ends it. A client that does not pipeline has two. */
export const MAX_PIPELINED = 2;
/** Maximum time in which a stop still serves open connections. */
const MAX_DRAIN_MS = 1_000;
/** Maximum time for clients to finish after that. */
const MAX_CLOSE_MS = 10_000;
/** How long a client may take to read its last response and to close its side of the connection. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Goes on reading: a reset would take the response from a client that is still sending (RFC 9112, section 9.6). */
export function closeGently(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** The requests in progress of each connection, and how connections end when the application is closed. */
@Injectable()
export class Connections {
  private readonly open = new Map<Duplex, RequestContext[]>();
  /** From 'draining', every response ends its connection. */
  phase: 'serving' | 'stopping' | 'draining' | 'refusing' = 'serving';

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly config: Config,
  ) {}

  /** Lists the requests of a connection that have no complete response, oldest first. */
  listInProgress(socket: Duplex): readonly RequestContext[] {
    return this.open.get(socket) ?? [];
  }

  /** Creates the first middleware: every request behind it has a context, and its response an id. */
  createContext(): RequestHandler {
    return (request, response, next) => {
      const { socket } = request;
      const requests = this.open.get(socket) ?? this.track(socket);
      const last = requests.at(-1);
      // Nothing is processed behind such a response (RFC 9112, section 9.6).
      const isOver = !socket.writable || last?.response.getHeader('connection') === 'close';
      // Destroys the connection with it: a destroyed request drops its body.
      if (requests.length === MAX_PIPELINED || (isOver && !last)) request.destroy();
      if (socket.destroyed) return;
      if (isOver && last) {
        // Counts once more, in place of the request.
        requests.push(last);
        return void request.resume();
      }
      const context = new RequestContext(request, response, requests);
      response.setHeader('x-request-id', context.requestId).setHeader('cache-control', 'no-store');
      if (this.phase === 'draining' || this.phase === 'refusing')
        response.setHeader('connection', 'close');
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

  /** SHUTDOWN_DELAY, then no new connections and a second for the open ones. What is open after a timeout is cut off. */
  async drain(): Promise<void> {
    const server = this.adapterHost.httpAdapter.getHttpServer() as Server;
    if (!server.listening) return;
    this.phase = 'stopping';
    const { shutdownDelay, shutdownTimeout } = this.config;
    // Load balancers learn from /readyz, or from the sender of the signal, to send requests elsewhere.
    await sleep(shutdownDelay);
    this.phase = 'draining';
    for (const requests of this.open.values()) {
      const last = requests.at(-1)?.response;
      if (last && !last.headersSent) last.setHeader('connection', 'close');
    }
    const closed = once(server, 'close');
    // http.Server's own close() would end idle connections at once, and with them requests on their way.
    TcpServer.prototype.close.call(server);
    const drainMs = Math.min(MAX_DRAIN_MS, shutdownTimeout / 4);
    await Promise.race([closed, sleep(drainMs, undefined, { ref: false })]);
    this.phase = 'refusing';
    const closeMs = Math.min(MAX_CLOSE_MS, shutdownTimeout / 2);
    setTimeout(() => server.closeAllConnections(), closeMs).unref();
  }
}
