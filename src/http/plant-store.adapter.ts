/**
 * Nest's Express adapter, with the limits that Node has for a server and Nest has no option for: without them a client, even
 * without a token, could take all connections or all memory, and keep them.
 *
 * 1. The server accepts 256 connections, and closes further ones at once. It closes one that takes too long for a handshake,
 *    headers, a body or the next request, or on which neither side sends anything for long.
 * 2. connections.ts destroys a connection that has a third request in progress. Node goes on to parse what it has read by then,
 *    64 KB with thousands of requests, and would keep two objects for each until that is done. Its own option for the classes
 *    of these objects lets all of them share one pair, SURPLUS, which the listener ignores.
 * 3. Node would refuse a request without Host by itself, without an Error body, and send `100 Continue` before a token is
 *    verified. Such requests reach Express as any other, with a target that Express can route.
 * 4. If a connection cannot be accepted, Node emits an error, which would end the process: it is logged.
 */
import http, { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestListener, ServerOptions } from 'node:http';
import https from 'node:https';
import { Socket } from 'node:net';
import { Logger, type NestApplicationOptions } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Request, type Response } from 'express';
import type { Config } from '../config/config.js';
import { AvailabilityLog } from '../errors/availability-log.js';
import { MAX_FIELDS } from './client-errors.js';
import { writeBigInt } from './int64.js';

const SECOND = 1_000;
/** Limits in milliseconds (docs/api.md#limits). */
const TIMEOUTS = {
  /** Runs from the first byte of a request, or from the connection, to the end of the headers. */
  headersTimeout: 10 * SECOND,
  /** Runs from the same moment to the end of the body. */
  requestTimeout: 30 * SECOND,
  /** Runs from a response to the next request: longer than proxies keep an idle connection, mostly 60 s. */
  keepAliveTimeout: 75 * SECOND,
  connectionsCheckingInterval: SECOND,
} satisfies ServerOptions;
const MAX_HANDSHAKE_MS = 10 * SECOND;
/** The maximum time without a byte read or written. A request waits for the database for less: DATABASE_TIMEOUT is at most 60 s. */
const IDLE_TIMEOUT_MS = 75 * SECOND;
/** Each connection takes a file descriptor, the memory of two requests, and with TLS some 100 KB of OpenSSL's. */
const MAX_CONNECTIONS = 256;

/**
 * Stands for each request behind the one for which its connection was destroyed. To Node's parser it is complete. Its own
 * push() would keep nothing either, but make an error of each part of a body.
 */
const SURPLUS = Object.assign(new IncomingMessage(new Socket().destroy()).destroy(), {
  complete: true,
  push: () => false,
});
const SURPLUS_RESPONSE = new ServerResponse(SURPLUS);
const CLASSES = {
  IncomingMessage: class extends IncomingMessage {
    constructor(socket: Socket) {
      if (socket.destroyed) return SURPLUS;
      super(socket);
    }
  } as typeof IncomingMessage,
  ServerResponse: class extends ServerResponse {
    constructor(...args: ConstructorParameters<typeof ServerResponse>) {
      // Node adds listeners each time that it uses this one.
      if (args[0] === SURPLUS) return SURPLUS_RESPONSE.removeAllListeners();
      super(...args);
    }
  },
};

/** Matches a target in absolute form, and captures its path (RFC 9112, section 3.2.2). */
const TARGET = /^https?:\/\/[^/?#]*(\/.*)$/i;

export class PlantStoreAdapter extends ExpressAdapter {
  constructor(private readonly config: Config) {
    const app = express();
    app.disable('x-powered-by').disable('etag');
    // A path is exact: `/plants`, neither `/plants/` nor `/Plants` (contract/openapi.yaml, paths).
    app.enable('strict routing').enable('case sensitive routing');
    app.set('trust proxy', config.trustProxy).set('json replacer', writeBigInt);
    super(app);
  }

  /** Nest's `forceCloseConnections` and `return503OnClosing` have no effect: drain.ts ends every stop. */
  override initHttpServer({ httpsOptions }: NestApplicationOptions): void {
    const app: Express = this.getInstance();
    const listener: RequestListener = (request, response) => {
      if (request.socket.destroyed) return;
      const { url = '' } = request;
      // Express cannot route a target without a path, such as `*`. The path `/*` has no route, so the response is 404.
      if (!url.startsWith('/')) request.url = TARGET.exec(url)?.[1] ?? '/*';
      app(request as Request, response as Response);
    };
    const options = { ...TIMEOUTS, ...CLASSES, requireHostHeader: false };
    // A stop waits for connections in a handshake, which closeAllConnections() does not close: half of its time is left after them.
    const handshakeTimeout = Math.min(MAX_HANDSHAKE_MS, this.config.shutdownTimeout / 2);
    const server = httpsOptions
      ? https.createServer({ ...httpsOptions, ...options, handshakeTimeout }, listener)
      : http.createServer(options, listener);
    // JsonBodyGuard sends `100 Continue`, once the token is valid; an unknown expectation is ignored.
    for (const event of ['checkContinue', 'checkExpectation']) server.on(event, listener);
    server.timeout = IDLE_TIMEOUT_MS;
    server.maxConnections = MAX_CONNECTIONS;
    // Node drops further fields silently: with one more than are allowed, middleware.ts sees that there were too many.
    server.maxHeadersCount = MAX_FIELDS + 1;
    // Mostly a file descriptor is lacking (EMFILE). The caller handles the error of a server that does not listen yet.
    const what = 'a file descriptor for a connection (ulimit -n)';
    const log = new AvailabilityLog(new Logger('Http'), what);
    server.on('error', (error) => server.listening && log.markUnavailable(error));
    this.httpServer = server;
  }
}
