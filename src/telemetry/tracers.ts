import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Logger } from '@nestjs/common';
import { diag, DiagLogLevel, type Tracer } from '@opentelemetry/api';
import { ExportResultCode, setGlobalErrorHandler, type ExportResult } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  type Resource,
} from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import { VERSION, type Config } from '../config/config.js';
import { Outage } from '../errors/outage.js';
import { MAX_GROUP_SIZE } from '../plants/group-commit.js';

/** Milliseconds that the last spans have to reach the collector. */
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * OpenTelemetry's SDK, and the way to the collector: at most 2048 spans wait for it, and those beyond
 * are dropped. (The SDK's own variables change that: docs/tracing.md.)
 */
export class Tracers {
  /** For requests: sampled as their clients have it, or as `OTEL_TRACES_SAMPLER` has it. */
  readonly requests: Tracer;
  /** For commits, of which those are worth a span whose requests have one: whoever asks decides. */
  readonly commits: Tracer;
  private readonly logger = new Logger('Tracing');
  private readonly processor: BatchSpanProcessor;

  constructor(config: Config, endpoint: string) {
    logDiagnostics(this.logger);
    const exporter = new OTLPTraceExporter({
      url: `${endpoint}/v1/traces`,
      headers: config.otlpHeaders,
    });
    this.processor = new BatchSpanProcessor(new WatchedExporter(exporter, this.logger));
    const options = {
      resource: resourceOf(config),
      spanProcessors: [this.processor],
      // A commit has a link for each of its plants.
      spanLimits: { linkCountLimit: MAX_GROUP_SIZE },
    };
    this.requests = new BasicTracerProvider(options).getTracer('plant-store');
    const sampler = new AlwaysOnSampler();
    this.commits = new BasicTracerProvider({ ...options, sampler }).getTracer('plant-store');
  }

  /** Sends what is left; what the collector has not taken in time is lost. */
  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.logger.warn('The last traces are lost: the collector does not take them.');
        resolve();
      }, CLOSE_TIMEOUT_MS);
    });
    // What fails here, the exporter has said.
    await Promise.race([this.processor.shutdown().catch(() => undefined), late]);
    clearTimeout(timer);
  }
}

/** An exporter that logs when the collector is unavailable, and when it is back. */
class WatchedExporter implements SpanExporter {
  private readonly outage: Outage;

  constructor(
    private readonly exporter: SpanExporter,
    logger: Logger,
  ) {
    this.outage = new Outage(logger, 'the collector of traces');
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.exporter.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.outage.end();
      else this.outage.begin(result.error);
      done(result);
    });
  }

  async shutdown(): Promise<void> {
    await this.exporter.shutdown();
  }
}

/** Who sends the spans: this process. `OTEL_RESOURCE_ATTRIBUTES` adds to it, and wins but for the name. */
function resourceOf({ otelServiceName }: Config): Resource {
  return defaultResource()
    .merge(
      resourceFromAttributes({
        'service.version': VERSION,
        'service.instance.id': randomUUID(),
        'host.name': hostname(),
        'process.pid': process.pid,
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(resourceFromAttributes({ 'service.name': otelServiceName }));
}

/** Different complaints that are logged at most. */
const MAX_COMPLAINTS = 100;

/**
 * Logs what OpenTelemetry complains of, a variable that it cannot read, say, or spans that it drops:
 * each once, whatever numbers are in it. An export that fails, the exporter itself tells of.
 */
function logDiagnostics(logger: Logger): void {
  const said = new Set<string>();
  const say = (...parts: unknown[]): void => {
    const text = parts.filter((part) => typeof part === 'string').join(' ');
    const gist = text.replace(/\d+/g, '0');
    if (said.has(gist) || said.size >= MAX_COMPLAINTS) return;
    said.add(gist);
    logger.warn(`OpenTelemetry: ${text}`);
  };
  const nothing = (): void => undefined;
  const sink = { error: say, warn: say, info: nothing, debug: nothing, verbose: nothing };
  diag.setLogger(sink, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  setGlobalErrorHandler(nothing);
}
