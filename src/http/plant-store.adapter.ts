// A create, steps 2 and 12 of 13: refuses the request or hands it to Express; reply() hands the result to response.ts.
// A start, step 5 of 6: listens.
import type { Server } from 'node:http';
import { StreamableFile, type NestApplicationOptions } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import cors from 'cors';
import express, {
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import type { Config } from '../config/config.js';
import { ERRORS, ApiException } from '../errors/error-codes.js';
import { sendError, toErrorResponse, type ErrorResponse } from './error.filter.js';
import { countLayers, listMethods } from './express.js';
import { RequestContext, requestStart } from './request-context.js';
import { Connections } from './limits/connections.js';
import { createMessageClasses } from './response.js';
import { findRequestError, isTarget } from './request-checks.js';
import { createServer } from './server.js';

/** Made once: refusals must cost least when there is most to do. */
const SHUTTING_DOWN = toErrorResponse(new ApiException(ERRORS.SHUTTING_DOWN));
const OVERLOADED = toErrorResponse(new ApiException(ERRORS.OVERLOADED));
/** For a target without a path, such as `http://`: Express would respond in HTML. */
const NO_PATH = toErrorResponse(new ApiException(ERRORS.NO_SUCH_PATH));

/** Milliseconds at most, when the service stops, in which requests on open connections are still served. */
const MAX_DRAIN_MS = 1_000;
/** Milliseconds that a client has at most, when the service stops, to send the rest of its request. */
const MAX_CUT_OFF_MS = 10_000;

/** Connections that may wait to be accepted. Past them, Linux has a client try again after a second. */
const BACKLOG = 4_096;

/** Statuses whose responses have no content (RFC 9110, section 15). */
const WITHOUT_CONTENT = [204, 205, 304];

/**
 * Nest's Express adapter. What differs from ExpressAdapter, and why:
 * - The server is ours, with limits for one client, and for all together (`server.ts`, `limits/`).
 * - Invalid HTTP is refused before the first middleware, and so is everything while the service is overloaded or stops:
 *   then a refusal must cost least.
 * - Requests and responses have Express's prototypes from the start, and every response has an id and safe headers, in
 *   one write if it is JSON (`response.ts`). Express's settings for JSON and its ETags are not used.
 * - A path with other methods only is 405, with `Allow` (RFC 9110, section 15.5.6), and a path is exact.
 * - A stop serves what is in transit on open connections before it ends them.
 */
export class PlantStoreAdapter extends ExpressAdapter {
  /** Requests are no longer served. */
  private refusing = false;
  private isOverloaded: () => boolean = () => false;
  private connections!: Connections;
  private handleCors: RequestHandler | undefined;
  /** Where the routes of controllers begin among those of Express; those before are pages and middleware. */
  private firstRoute = 0;

  constructor(private readonly config: Config) {
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    // `/plants` is the one path: neither `/plants/` nor `/Plants` (contract/openapi.yaml, paths).
    app.enable('strict routing');
    app.enable('case sensitive routing');
    app.set('trust proxy', config.trustProxy);
    super(app);
  }

  /** Puts a server of ours in the place of Nest's. */
  override initHttpServer(options: NestApplicationOptions): void {
    super.initHttpServer(options);
    const server = createServer(createMessageClasses(this.getInstance()), options.httpsOptions);
    this.connections = new Connections(server, this.config.bodyLimit, this.handle);
    this.httpServer = server;
  }

  /** Nest calls this when it has created the application, and again before it adds the routes of controllers. */
  override async init(): Promise<void> {
    await super.init();
    this.firstRoute = countLayers(this.getInstance());
  }

  /** Nest adds middleware by this before the routes of controllers. That of one method is a route of Express, too. */
  override createMiddlewareFactory(
    ...method: Parameters<ExpressAdapter['createMiddlewareFactory']>
  ): ReturnType<ExpressAdapter['createMiddlewareFactory']> {
    const add = super.createMiddlewareFactory(...method);
    return (...middleware) => {
      const added: unknown = add(...middleware);
      this.firstRoute = countLayers(this.getInstance());
      return added;
    };
  }

  /** Lists the methods that controllers have on a path: for the `Allow` of a 405, and for CORS. */
  listMethods(path: string): string[] {
    return listMethods(this.getInstance(), path, this.firstRoute);
  }

  get inFlight(): number {
    return this.connections.inFlight;
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

  /** Refuses every request while a condition is true: before its token and its body cost anything. */
  refuseWhile(isOverloaded: () => boolean): void {
    this.isOverloaded = isOverloaded;
  }

  /** Keeps the middleware: a page of another origin must be able to read a refusal, too. */
  override enableCors(options: Parameters<ExpressAdapter['enableCors']>[0]): void {
    this.handleCors = cors(options as Parameters<typeof cors>[0]);
    this.use(this.handleCors);
  }

  override setNotFoundHandler(...handler: Parameters<ExpressAdapter['setNotFoundHandler']>): void {
    const { docs, publicUrl = '' } = this.config;
    const seeDocs = docs ? `; see ${publicUrl}/docs` : '';
    this.use(({ method, path }: Request, _response: Response, next: NextFunction) => {
      const methods = this.listMethods(path);
      // A route may not match for another reason, such as its version.
      if (methods.length === 0 || methods.includes(method)) {
        next();
        return;
      }
      const allow = methods.join(', ');
      const kind = { ...ERRORS.NO_SUCH_METHOD, headers: { allow } };
      throw new ApiException(kind, `${kind.message}: only ${allow} ${path}${seeDocs}`);
    });
    super.setNotFoundHandler(...handler);
  }

  /** Nest calls this with what the controller has returned (step 12); sendJson() is of response.ts. */
  override reply(response: Response, body: unknown, status = response.statusCode): unknown {
    const isJson =
      typeof body === 'object' &&
      body !== null &&
      !(body instanceof StreamableFile) &&
      !(body instanceof Error) &&
      !WITHOUT_CONTENT.includes(status) &&
      !response.hasHeader('content-type');
    if (!isJson) return super.reply(response, body, status);
    response.sendJson(status, body);
    return undefined;
  }

  override beforeClose(): void {
    super.beforeClose();
    this.connections.isDraining = true;
  }

  /** Ends in order: takes no new connections, responds to every request on the open ones, closes. */
  override async close(): Promise<void> {
    const { shutdownTimeout } = this.config;
    await this.connections.drain(Math.min(MAX_DRAIN_MS, shutdownTimeout / 4));
    this.refusing = true;
    const cutOff = this.connections.cutOffAfter(Math.min(MAX_CUT_OFF_MS, shutdownTimeout / 2));
    await super.close();
    clearInterval(cutOff);
  }

  private readonly handle = (request: Request, response: Response): void => {
    const context = new RequestContext(request, response);
    // telemetry/tracing.ts subscribes.
    if (!requestStart.hasSubscribers) this.route(request, response);
    else requestStart.runStores(context, () => this.route(request, response));
  };

  private route(request: Request, response: Response): void {
    const refusal = this.findRefusal(request);
    if (refusal) this.refuse(request, response, refusal);
    else
      this.getInstance<Express>()(request, response, (error?: unknown) => {
        // The ErrorFilter has failed. No request behind this one gets a response.
        if (error) request.socket.destroy();
        else sendError(response, NO_PATH);
      });
  }

  private refuse(request: Request, response: Response, refusal: ErrorResponse): void {
    const send = () => sendError(response, refusal);
    if (!this.handleCors) {
      send();
      return;
    }
    try {
      void this.handleCors(request, response, send);
    } catch {
      // A function of the options that fails has its error in the log when a request is served.
      send();
    }
  }

  /** The response to a request that is refused before any route has seen it, and before its body is read. */
  private findRefusal(request: Request): ErrorResponse | undefined {
    if (this.refusing) return SHUTTING_DOWN;
    if (this.isOverloaded()) return OVERLOADED;
    const fault = findRequestError(request);
    if (fault) return toErrorResponse(fault);
    return isTarget(request.url) ? undefined : NO_PATH;
  }
}
