import type { RequestListener, Server } from 'node:http';
import type { NestApplicationOptions } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Request, type Response } from 'express';
import type { Config } from '../config/config.js';
import { ERRORS, Fault } from '../errors/errors.js';
import { sendJson, toAnswer, type ErrorAnswer } from './answer.js';
import { getConnection } from './connection.js';
import { Connections } from './connections.js';
import { createCors, type Cors } from './cors.js';
import { Exchange, exchangeStart, getExchange } from './exchange.js';
import { findRequestError, isTarget } from './request.js';
import { createServer } from './server.js';

/** Made once: refusals must cost least when there is most to do. */
const SHUTTING_DOWN = toAnswer(new Fault(ERRORS.SHUTTING_DOWN));
const OVERLOADED = toAnswer(new Fault(ERRORS.OVERLOADED));
/** For a target without a path, such as `http://`: Express would answer it in HTML. */
const NO_PATH = toAnswer(new Fault(ERRORS.NO_SUCH_PATH));

/** Milliseconds at most, when the service stops, in which requests on open connections are still served. */
const MAX_DRAIN_MS = 1_000;
/** Milliseconds that a client has at most, when the service stops, to send the rest of its request. */
const MAX_CUT_OFF_MS = 10_000;

/** Connections that may wait to be accepted. Past them, Linux has a client try again after a second. */
const BACKLOG = 4_096;

type Handle = (request: Request, response: Response) => Promise<unknown>;

/** Nest's Express adapter, with the changes that docs/performance.md has measured. */
export class PlantStoreAdapter extends ExpressAdapter {
  /** Answers tell the client to close its connection. */
  private closing = false;
  /** Requests are no longer served. */
  private refusing = false;
  private isOverloaded: () => boolean = () => false;
  private connections: Connections | undefined;
  /** Requests whose answer is not sent yet. */
  inFlight = 0;
  private readonly cors: Cors | undefined;
  /** Nest's handlers of POST, by their paths. */
  private readonly posts = new Map<string, (...exchange: Parameters<Handle>) => void>();

  constructor(private readonly config: Config) {
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    // `/plants` is the one path: neither `/plants/` nor `/Plants` (interface, "Endpoints").
    app.enable('strict routing');
    app.enable('case sensitive routing');
    super(app);
    this.cors = createCors(config);
  }

  /** Puts a server of ours in the place of Nest's. */
  override initHttpServer(options: NestApplicationOptions): void {
    super.initHttpServer(options);
    const server = createServer(
      (incoming, answer) => getConnection(incoming).receive(incoming, answer),
      options.httpsOptions,
    );
    const begin = this.begin as RequestListener;
    this.connections = new Connections(server, this.config.bodyLimit, begin);
    this.httpServer = server;
  }

  /** As Nest does, with options that it has no parameters for. */
  override listen(port: string | number, ...hostAndCallback: unknown[]): Server {
    const callback = hostAndCallback.pop() as () => void;
    const [host] = hostAndCallback as [string | undefined];
    const { reusePort } = this.config;
    return (this.httpServer as Server).listen(
      { port: Number(port), host, reusePort, backlog: BACKLOG },
      callback,
    );
  }

  /**
   * Keeps the handler of a controller's POST, which is called without Express if a request has exactly its path: without
   * its router, its middleware, and what it adds to requests and answers, such as `request.ip`. With it a create takes
   * 1.15 times the CPU time and 3.2 kB more.
   */
  override post(...route: unknown[]): unknown {
    const [path, handle] = route as [string, Handle];
    const found = { path };
    this.posts.set(path, (request, response) => {
      // As Express does. Telemetry reads the route.
      request.res = response;
      request.route = found;
      // Rejects if the ErrorFilter fails. The answer may have no socket yet, and no request behind it gets an answer.
      void handle(request, response).catch(() => request.socket.destroy());
    });
    return super.post(path, handle);
  }

  /** A create does not pass Express, which would give its answer a method for this. */
  override status(response: Response, code: number): void {
    response.statusCode = code;
  }

  /** Refuses every request while a condition holds: before its token and its body cost anything. */
  refuseWhile(isOverloaded: () => boolean): void {
    this.isOverloaded = isOverloaded;
  }

  override beforeClose(): void {
    super.beforeClose();
    this.closing = true;
  }

  /** Ends in order: no new connections, an answer to all that comes in on the open ones, the end. */
  override async close(): Promise<void> {
    const { shutdownTimeout } = this.config;
    await this.connections?.linger(Math.min(MAX_DRAIN_MS, shutdownTimeout / 4));
    this.refusing = true;
    const cutOff = this.connections?.cutOffAfter(Math.min(MAX_CUT_OFF_MS, shutdownTimeout / 2));
    await super.close();
    clearInterval(cutOff);
  }

  /** Every answer of the application is an object: a plant, or an Error. */
  override reply(response: Response, body: object, status = response.statusCode): void {
    if (this.closing) getConnection(response.req).endBehind(response);
    sendJson(response, status, body);
  }

  /** Each request begins here, once its connection has room for it. */
  private readonly begin = (request: Request, response: Response): void => {
    this.inFlight += 1;
    const exchange = new Exchange(request, response, this.onEnd);
    // reply() does both itself, but the document, its UI and a browser's preflight are sent without it.
    if (request.method !== 'POST') {
      response.setHeader('x-request-id', exchange.requestId);
      if (this.closing) getConnection(request).endBehind(response);
    }
    if (!exchangeStart.hasSubscribers) this.pass(request, response);
    else exchangeStart.runStores(exchange, () => this.pass(request, response));
  };

  private readonly onEnd = (): void => {
    this.inFlight -= 1;
  };

  private pass(request: Request, response: Response): void {
    if (this.cors) this.cors(request, response, () => this.serve(request, response));
    else this.serve(request, response);
  }

  private serve(request: Request, response: Response): void {
    const refusal = this.findRefusal(request);
    const post = request.method === 'POST' ? this.posts.get(request.url) : undefined;
    if (refusal) this.refuse(response, refusal);
    else if (post) post(request, response);
    else this.getInstance<Express>()(request, response, () => this.refuse(response, NO_PATH));
  }

  private refuse(response: Response, { status, body, headers }: ErrorAnswer): void {
    getExchange(response).addHeaders(headers);
    this.reply(response, body, status);
  }

  /** The answer to a request that is refused before any route has seen it, and before its body is read. */
  private findRefusal(request: Request): ErrorAnswer | undefined {
    if (this.refusing) return SHUTTING_DOWN;
    if (this.isOverloaded()) return OVERLOADED;
    const fault = findRequestError(request);
    if (fault) return toAnswer(fault);
    return isTarget(request.url) ? undefined : NO_PATH;
  }
}
