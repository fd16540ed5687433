import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import {
  defaultTextMapGetter,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import {
  ExportResultCode,
  setGlobalErrorHandler,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { Request } from 'express';
import { VERSION, type Config } from '../config/config.js';
import { selectEngine } from '../database/store.js';
import { AvailabilityLog } from '../errors/availability-log.js';
import {
  describePath,
  requestEnd,
  requestStart,
  type RequestContext,
} from '../http/request-context.js';
import { commits, MAX_GROUP_SIZE, plantQueued, type Commit } from '../plants/group-commit.js';
import type { Plant } from '../plants/plant.entity.js';

/** Milliseconds that the last spans have to reach the collector. */
const LAST_EXPORT_TIMEOUT_MS = 2_000;

const logger = new Logger('Tracing');

/** Sends spans of requests and commits to a collector (docs/tracing.md). The SDK reads `OTEL_*` itself. */
export class Tracing implements OnApplicationShutdown {
  private readonly processor: BatchSpanProcessor;
  /** Samples as the client does, or as `OTEL_TRACES_SAMPLER` says. */
  private readonly requests: Tracer;
  /** Samples all: commits with a recorded request have a span, and no others. */
  private readonly commits: Tracer;
  private readonly propagator = new W3CTraceContextPropagator();
  private readonly database: Readonly<Record<string, string>>;
  /** The recorded span of the current request. */
  private readonly current = new AsyncLocalStorage<Span | undefined>();
  private readonly spans = new WeakMap<RequestContext, Span>();
  private readonly byPlant = new WeakMap<Plant, Span>();
  private readonly byCommit = new WeakMap<Commit, Span>();

  constructor(config: Config) {
    logDiagnostics();
    this.processor = new BatchSpanProcessor(new Exporter({ headers: config.otlpHeaders }));
    const options = {
      resource: describeResource(config),
      spanProcessors: [this.processor],
      // A commit has a link for each of its plants.
      spanLimits: { linkCountLimit: MAX_GROUP_SIZE },
    };
    this.requests = new BasicTracerProvider(options).getTracer('plant-store');
    const sampler = new AlwaysOnSampler();
    this.commits = new BasicTracerProvider({ ...options, sampler }).getTracer('plant-store');
    this.database = {
      'db.system.name': selectEngine(config.databaseUrl).system,
      'db.operation.name': 'INSERT',
      'db.collection.name': 'plants',
    };
    requestStart.bindStore(this.current, this.onStart);
    requestEnd.subscribe(this.onEnd);
    plantQueued.subscribe(this.onQueued);
    commits.start.subscribe(this.onCommitStart);
    commits.asyncEnd.subscribe(this.onCommitEnd);
  }

  /** Sends the last spans. All commits have ended: Nest shuts global modules down last. */
  async onApplicationShutdown(): Promise<void> {
    // The exporter has logged its own failure.
    const sent = this.processor.shutdown().catch(() => undefined);
    const isLate = await Promise.race([sent, sleep(LAST_EXPORT_TIMEOUT_MS, true, { ref: false })]);
    if (isLate) logger.warn('The last traces are lost: the collector does not take them.');
  }

  private readonly onStart = (context: RequestContext): Span | undefined => {
    const { request } = context;
    const parent = this.propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter);
    const method = nameMethod(request);
    const scheme = (request.socket as Partial<TLSSocket>).encrypted ? 'https' : 'http';
    const attributes = { 'http.request.method': method, 'url.scheme': scheme };
    const span = this.requests.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
    if (!span.isRecording()) return undefined;
    this.spans.set(context, span);
    return span;
  };

  /** Only the path of a known route is recorded: others may hold a token. */
  private readonly onEnd = (message: unknown): void => {
    const context = message as RequestContext;
    const { request, status, error, requestId } = context;
    const span = this.spans.get(context);
    if (!span) return;
    const { path: route } = (request.route ?? {}) as { path?: string };
    const method = nameMethod(request).replace('_OTHER', 'HTTP');
    span.updateName(route === undefined ? method : `${method} ${route}`);
    if (route !== undefined)
      span.setAttributes({ 'http.route': route, 'url.path': describePath(request) });
    span.setAttributes({
      'http.response.status_code': status,
      'plant_store.error': error,
      'plant_store.request_id': requestId,
    });
    if (status !== undefined && status >= 500) {
      span.setAttribute('error.type', String(status)).setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  };

  private readonly onQueued = (message: unknown): void => {
    const span = this.current.getStore();
    if (span) this.byPlant.set(message as Plant, span);
  };

  private readonly onCommitStart = (message: unknown): void => {
    const commit = message as Commit;
    const { plants } = commit;
    const requests = plants.flatMap((plant) => this.byPlant.get(plant) ?? []);
    if (requests.length === 0) return;
    const links = requests.map((request) => ({ context: request.spanContext() }));
    const attributes = { ...this.database, 'plant_store.plants': plants.length };
    const options = { kind: SpanKind.CLIENT, links, attributes };
    const span = this.commits.startSpan('commit plants', options, ROOT_CONTEXT);
    const link = { context: span.spanContext() };
    // The span of a request whose client has left has ended, and takes no link.
    for (const request of requests) if (request.isRecording()) request.addLink(link);
    this.byCommit.set(commit, span);
  };

  private readonly onCommitEnd = (message: unknown): void => {
    const commit = message as Commit;
    const span = this.byCommit.get(commit);
    if (commit.error !== undefined) {
      span?.setAttribute('error.type', nameError(commit.error));
      span?.setStatus({ code: SpanStatusCode.ERROR });
    }
    span?.end();
  };
}

/** Logs once that the collector is unavailable, and once that it is back. */
class Exporter extends OTLPTraceExporter {
  private readonly availability = new AvailabilityLog(logger, 'the collector of traces');

  override export(...[spans, done]: Parameters<OTLPTraceExporter['export']>): void {
    super.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.availability.markAvailable();
      else this.availability.markUnavailable(result.error);
      done(result);
    });
  }
}

/** The resource of all spans. `OTEL_RESOURCE_ATTRIBUTES` adds to it, and wins. */
function describeResource({ otelServiceName }: Config) {
  const attributes = {
    'service.name': otelServiceName,
    'service.version': VERSION,
    'service.instance.id': randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
  };
  return defaultResource()
    .merge(resourceFromAttributes(attributes))
    .merge(detectResources({ detectors: [envDetector] }));
}

/**
 * Logs warnings of OpenTelemetry, such as a variable that it cannot read, or dropped spans: each once,
 * whatever numbers are in it, and 100 at most. Failed exports are logged by {@link Exporter}.
 */
function logDiagnostics(): void {
  const logged = new Set<string>();
  const ignore = (): void => undefined;
  const log = (...parts: unknown[]): void => {
    const text = parts.filter((part) => typeof part === 'string').join(' ');
    const pattern = text.replace(/\d+/g, '0');
    if (logged.has(pattern) || logged.size >= 100) return;
    logged.add(pattern);
    logger.warn(`OpenTelemetry: ${text}`);
  };
  const sink = { error: log, warn: log, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(sink, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  setGlobalErrorHandler(ignore);
}

/** The code of an error or of its cause, else its class. Its message may hold a plant. */
function nameError(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  const { code, driverError = error.cause } = error as { code?: unknown; driverError?: unknown };
  if (typeof code === 'string') return code;
  return driverError instanceof Error ? nameError(driverError) : error.constructor.name;
}

const METHODS = new Set('CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT TRACE'.split(' '));

/** A client may send any method: unknown ones are `_OTHER` (opentelemetry.io/docs/specs/semconv/http/http-spans). */
function nameMethod({ method }: Request): string {
  return METHODS.has(method) ? method : '_OTHER';
}
