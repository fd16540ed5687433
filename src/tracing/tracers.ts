import { Logger } from '@nestjs/common';
import type { Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { Config } from '../config/config.js';
import { GROUP_BOUND } from '../plants/plant-queue.js';
import { logDiagnostics } from './diagnostics.js';
import { resourceOf } from './resource.js';
import { WatchedExporter } from './watched-exporter.js';

/** Milliseconds that the last spans have to reach the collector. */
const PATIENCE = 2_000;

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
      spanLimits: { linkCountLimit: GROUP_BOUND },
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
      }, PATIENCE);
    });
    // What fails here, the exporter has said.
    await Promise.race([this.processor.shutdown().catch(() => undefined), late]);
    clearTimeout(timer);
  }
}
