import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import * as api from '@opentelemetry/api';
import {
  ExportResultCode,
  setGlobalErrorHandler,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { VERSION, type Config } from '../config/config.js';
import { getDatabaseSystem } from '../config/database-url.js';
import { AvailabilityLog } from '../errors/availability-log.js';
import { redact } from '../errors/operator-message.js';
import * as http from '../http/request-context.js';
import { commits, plantQueued, type Commit } from '../plants/group-commit.js';

const logger = new Logger('Tracing');
const propagator = new W3CTraceContextPropagator();

const LAST_EXPORT_TIMEOUT_MS = 2_000;

/** Sends a span of each request, with its commit as a child (docs/tracing.md). The SDK reads `OTEL_*` itself. */
export class Tracing implements OnApplicationShutdown {
  private readonly provider: BasicTracerProvider;
  private readonly tracer: api.Tracer;
  private readonly current = new AsyncLocalStorage<api.Span | undefined>();
  /** The spans of requests, by their RequestContext and by their Plant. */
  private readonly spans = new WeakMap<object, api.Span>();

  constructor(private readonly config: Config) {
    logWarnings();
    const { otelServiceName: name, otlpHeaders: headers } = config;
    this.provider = new BasicTracerProvider({
      resource: defaultResource()
        .merge(resourceFromAttributes({ 'service.name': name, 'service.version': VERSION }))
        // `OTEL_RESOURCE_ATTRIBUTES` wins.
        .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
      spanProcessors: [new BatchSpanProcessor(new SpanExporter({ headers }))],
    });
    this.tracer = this.provider.getTracer('plant-store');
    http.requestStart.bindStore(this.current, this.startRequest);
    http.requestEnd.subscribe(this.endRequest);
    plantQueued.subscribe((plant) => {
      const span = this.current.getStore();
      if (span) this.spans.set(plant as object, span);
    });
    commits.asyncEnd.subscribe(this.addCommit);
  }

  /** Sends the last spans. All commits have ended: Nest shuts global modules down last. */
  async onApplicationShutdown(): Promise<void> {
    // SpanExporter has logged a failure.
    const sent = this.provider.shutdown().catch(() => undefined);
    const isLate = await Promise.race([sent, sleep(LAST_EXPORT_TIMEOUT_MS, true, { ref: false })]);
    if (isLate) logger.warn('the last traces are lost: the collector is too slow');
  }

  /** Begins the span of a request, in the client's trace if it has sent one. */
  private readonly startRequest = (context: http.RequestContext): api.Span | undefined => {
    // Node refuses all but a list of methods, so their number in names of spans is bounded.
    const { headers, method } = context.request;
    const attributes = {
      'http.request.method': method,
      'url.scheme': this.config.scheme,
      'plant_store.request_id': context.requestId,
    };
    const options = { kind: api.SpanKind.SERVER, attributes };
    const parent = propagator.extract(api.ROOT_CONTEXT, headers, api.defaultTextMapGetter);
    const span = this.tracer.startSpan(method, options, parent);
    if (!span.isRecording()) return undefined;
    this.spans.set(context, span);
    return span;
  };

  private readonly endRequest = (message: unknown): void => {
    const context = message as http.RequestContext;
    const { request, status, error } = context;
    const span = this.spans.get(context);
    if (!span) return;
    const route = http.findRoute(request);
    if (route !== undefined) span.updateName(`${request.method} ${route}`);
    span.setAttributes({
      'http.route': route,
      'url.path': route && redact(request.baseUrl + request.path),
      'http.response.status_code': status,
      'plant_store.error': error,
    });
    if (status !== undefined && status >= 500) markFailed(span, String(status));
    span.end();
  };

  /** Adds the span of a commit that has ended to each of its requests. */
  private readonly addCommit = (message: unknown): void => {
    const { plants, startedAt: startTime, error } = message as Commit;
    const attributes = {
      'db.system.name': getDatabaseSystem(this.config.databaseUrl),
      'db.operation.name': 'INSERT',
      'db.collection.name': 'plants',
      'plant_store.plants': plants.length,
    };
    const options = { kind: api.SpanKind.CLIENT, attributes, startTime };
    for (const plant of plants) {
      const parent = this.spans.get(plant);
      if (!parent) continue;
      const context = api.trace.setSpan(api.ROOT_CONTEXT, parent);
      const span = this.tracer.startSpan('commit plants', options, context);
      if (error !== undefined) markFailed(span, nameError(error as Error));
      span.end(performance.now());
    }
  };
}

function markFailed(span: api.Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: api.SpanStatusCode.ERROR });
}

/** The code of an error or of its cause, else its class. Its message may contain a plant. */
function nameError(error: Error): string {
  const { code, constructor } = (error.cause ?? error) as NodeJS.ErrnoException;
  return code ?? constructor.name;
}

/** Sends spans to the collector. Logs when it becomes unavailable, and when it is back. */
class SpanExporter extends OTLPTraceExporter {
  private readonly availability = new AvailabilityLog(logger, 'the collector of traces');

  override export(...[spans, done]: Parameters<OTLPTraceExporter['export']>): void {
    super.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.availability.markAvailable();
      else this.availability.markUnavailable(result.error);
      done(result);
    });
  }
}

/** Logs warnings of OpenTelemetry, such as dropped spans: each once, whatever numbers are in it. */
function logWarnings(): void {
  const logged = new Set<string>();
  const warn = (text: string): void => {
    const pattern = text.replace(/\d+/g, '0');
    if (!logged.has(pattern)) logger.warn(`OpenTelemetry: ${text}`);
    logged.add(pattern);
  };
  const sink = Object.assign(new api.DiagConsoleLogger(), { error: warn, warn });
  api.diag.setLogger(sink, { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true });
  // SpanExporter logs failed exports.
  setGlobalErrorHandler(() => undefined);
}
