import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { OnApplicationShutdown } from '@nestjs/common';
import {
  defaultTextMapGetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Span,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { Request } from 'express';
import type { Config } from '../config/config.js';
import { selectEngine } from '../database/open-store.js';
import { exchangeEnd, exchangeStart, type Exchange } from '../http/exchange.js';
import { commits, plantQueued, type Commit, type PlantQueued } from '../plants/channels.js';
import type { Plant } from '../plants/plant.entity.js';
import { subscribe } from './subscribe.js';
import { Tracers } from './tracers.js';

/**
 * What the service tells of its work in traces (docs/tracing.md): a span for each request, and one for each commit
 * that is linked with those of the requests whose plants are in it.
 */
export class Tracing implements OnApplicationShutdown {
  private readonly tracers: Tracers;
  private readonly propagator = new W3CTraceContextPropagator();
  private readonly database: Readonly<Record<string, string>>;
  /** The span of the request in whose context this is; undefined where it is not recorded. */
  private readonly current = new AsyncLocalStorage<Span | undefined>();
  private readonly byExchange = new WeakMap<Exchange, Span>();
  private readonly byPlant = new WeakMap<Plant, Span>();
  private readonly byCommit = new WeakMap<Commit, Span>();
  private readonly subscriptions: readonly (() => void)[];

  constructor(
    private readonly config: Config,
    endpoint: string,
  ) {
    this.tracers = new Tracers(config, endpoint);
    this.database = {
      'db.system.name': selectEngine(config.databaseUrl).system,
      'db.operation.name': 'INSERT',
      'db.collection.name': 'plants',
    };
    exchangeStart.bindStore(this.current, this.onStart);
    this.subscriptions = [
      subscribe(exchangeEnd, config, this.onEnd),
      subscribe(plantQueued, config, this.onQueued),
      subscribe(commits.start, config, this.onCommit),
      subscribe(commits.error, config, this.onCommitFailure),
      subscribe(commits.asyncEnd, config, (commit) => this.byCommit.get(commit)?.end()),
    ];
  }

  /** Every commit has come to its end: Nest shuts global modules down after those that serve. */
  async onApplicationShutdown(): Promise<void> {
    exchangeStart.unbindStore(this.current);
    for (const unsubscribe of this.subscriptions) unsubscribe();
    await this.tracers.close();
  }

  private readonly onStart = (exchange: Exchange): Span | undefined => {
    const { config, request } = exchange;
    if (config !== this.config) return undefined;
    const parent = this.propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter);
    const method = methodOf(request);
    const attributes = { 'http.request.method': method, 'url.scheme': schemeOf(request) };
    const options = { kind: SpanKind.SERVER, attributes };
    const span = this.tracers.requests.startSpan(method, options, parent);
    if (!span.isRecording()) return undefined;
    this.byExchange.set(exchange, span);
    return span;
  };

  private readonly onEnd = (exchange: Exchange): void => {
    const span = this.byExchange.get(exchange);
    if (span) endRequestSpan(span, exchange);
  };

  private readonly onQueued = ({ plant }: PlantQueued): void => {
    const span = this.current.getStore();
    if (span) this.byPlant.set(plant, span);
  };

  private readonly onCommitFailure = (commit: Commit): void => {
    this.byCommit
      .get(commit)
      ?.setAttribute('error.type', typeOf(commit.error))
      .setStatus({ code: SpanStatusCode.ERROR });
  };

  private readonly onCommit = (commit: Commit): void => {
    const { plants } = commit;
    const spans = plants
      .map((plant) => this.byPlant.get(plant))
      .filter((span) => span !== undefined);
    if (spans.length === 0) return;
    const links = spans.map((span) => ({ context: span.spanContext() }));
    const attributes = { ...this.database, 'plant_store.plants': plants.length };
    const options = { kind: SpanKind.CLIENT, links, attributes };
    const span = this.tracers.commits.startSpan('commit plants', options, ROOT_CONTEXT);
    const link = { context: span.spanContext() };
    // The client of one that has ended is gone; its plant is committed all the same.
    for (const request of spans) if (request.isRecording()) request.addLink(link);
    this.byCommit.set(commit, span);
  };
}

/** An error's code, or that of what is behind it, or its class. Not its message: a store repeats in it what it could not store. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  const {
    code,
    cause,
    driverError = cause,
  } = error as { code?: unknown; driverError?: unknown } & Error;
  if (typeof code === 'string') return code;
  return driverError instanceof Error ? typeOf(driverError) : error.constructor.name;
}

/** Methods that name a span; each other is `_OTHER`, since a client may send what it likes. */
const METHODS = new Set('CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT TRACE'.split(' '));

/** A request's `http.request.method` (opentelemetry.io/docs/specs/semconv/http/http-spans). */
function methodOf({ method = '' }: IncomingMessage): string {
  return METHODS.has(method) ? method : '_OTHER';
}

/** A request's `url.scheme`. */
function schemeOf({ socket }: IncomingMessage): string {
  return (socket as Partial<TLSSocket>).encrypted ? 'https' : 'http';
}

/**
 * Ends the span of a request with what came of it. A path is told where it is a route of ours: any
 * other may hold anything, a token that was pasted into the wrong place too.
 */
function endRequestSpan(span: Span, exchange: Exchange): void {
  const { request, status, error, requestId } = exchange;
  const route = routeOf(request);
  const method = methodOf(request);
  span.updateName([method === '_OTHER' ? 'HTTP' : method, route].filter(Boolean).join(' '));
  if (route !== undefined) span.setAttributes({ 'http.route': route, 'url.path': request.path });
  span.setAttributes({
    'http.response.status_code': status,
    'plant_store.error': error,
    'plant_store.request_id': requestId,
  });
  if (status !== undefined && status >= 500) {
    span.setAttribute('error.type', String(status)).setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

function routeOf(request: Request): string | undefined {
  const { path } = (request.route ?? {}) as { path?: unknown };
  return typeof path === 'string' ? path : undefined;
}
