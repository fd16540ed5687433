import http, {
  IncomingMessage,
  ServerResponse,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
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
/** In milliseconds (docs/api.md and docs/configuration.md, "Limits"). */
const TIMEOUTS = {
  /** From the first byte of a request, or from the connection, to the end of the headers. */
  headersTimeout: 10 * SECOND,
  /** To the end of the body. */
  requestTimeout: 30 * SECOND,
  /** From a response to the next request: longer than proxies keep an idle connection, mostly 60 s. */
  keepAliveTimeout: 75 * SECOND,
  connectionsCheckingInterval: SECOND,
} satisfies ServerOptions;
const MAX_HANDSHAKE_MS = 10 * SECOND;
/** Maximum time without a byte read or written; longer than a request waits for the store. */
const IDLE_TIMEOUT_MS = 75 * SECOND;
/** Each takes a file descriptor, the memory of two requests, and with TLS some 100 KB of OpenSSL's. */
const MAX_CONNECTIONS = 256;

/** Stands for requests behind the one that ended their connection, and drops their bodies. */
const SURPLUS = Object.assign(new IncomingMessage(new Socket().destroy()).destroy(), {
  complete: true,
  push: () => false,
});
const SURPLUS_RESPONSE = new ServerResponse(SURPLUS);
/** Node parses all that it has read, thousands of requests in 64 KB, and keeps their objects until the connection is closed. */
const CLASSES = {
  IncomingMessage: class extends IncomingMessage {
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

/** The absolute form of a target, and its path (RFC 9112, section 3.2.2). */
const TARGET = /^https?:\/\/[^/?#]*(\/.*)$/i;

/** Nest's Express adapter, with the limits that Node has for a server and Nest has no option for. */
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
      // Express cannot route a target without a path, such as `*`; this path has no route either.
      if (!url.startsWith('/')) request.url = TARGET.exec(url)?.[1] ?? '/*';
      app(request as Request, response as Response);
    };
    // Node would refuse a request without Host by itself, with an empty body.
    const options = { ...TIMEOUTS, ...CLASSES, requireHostHeader: false };
    // A stop waits for handshakes: closeAllConnections() does not know these connections.
    const handshakeTimeout = Math.min(MAX_HANDSHAKE_MS, this.config.shutdownTimeout / 2);
    const server = httpsOptions
      ? https.createServer({ ...httpsOptions, ...options, handshakeTimeout }, listener)
      : http.createServer(options, listener);
    // JsonBodyGuard asks for a body, once the token is valid; an unknown expectation is ignored.
    for (const event of ['checkContinue', 'checkExpectation']) server.on(event, listener);
    server.timeout = IDLE_TIMEOUT_MS;
    server.maxConnections = MAX_CONNECTIONS;
    // Node drops fields beyond this silently; with one more, client-errors.ts can tell.
    server.maxHeadersCount = MAX_FIELDS + 1;
    logAcceptErrors(server, new Logger('Http'));
    this.httpServer = server;
  }
}

/** Logs connections that cannot be accepted, instead of ending the process: most lack a file descriptor (EMFILE). */
function logAcceptErrors(server: Server, logger: Logger): void {
  const log = new AvailabilityLog(logger, 'a file descriptor for a connection (ulimit -n)');
  // The caller handles the error of a server that does not listen yet.
  server.on('error', (error) => server.listening && log.markUnavailable(error));
}
