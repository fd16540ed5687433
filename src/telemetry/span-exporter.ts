import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Logger } from '@nestjs/common';
import { diag, DiagConsoleLogger, DiagLogLevel } from '@opentelemetry/api';
import { ExportResultCode, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  type Resource,
} from '@opentelemetry/resources';
import { VERSION, type Config } from '../config/config.js';
import { AvailabilityLog } from '../errors/availability-log.js';

/** Warnings of OpenTelemetry that are logged at most. */
const MAX_WARNINGS = 100;

const logger = new Logger('Tracing');

/** Sends spans to the collector. Logs when it becomes unavailable, and when it is back. */
export class SpanExporter extends OTLPTraceExporter {
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
export function describeResource({ otelServiceName }: Config): Resource {
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
 * Logs warnings of OpenTelemetry, such as a variable that it cannot read, or dropped spans: each once, whatever numbers
 * are in it. Failed exports are logged by {@link SpanExporter}.
 */
export function logWarnings(): void {
  const logged = new Set<string>();
  const warn = (text: string): void => {
    const pattern = text.replace(/\d+/g, '0');
    if (logged.has(pattern) || logged.size >= MAX_WARNINGS) return;
    logged.add(pattern);
    logger.warn(`OpenTelemetry: ${text}`);
  };
  const sink = Object.assign(new DiagConsoleLogger(), { error: warn, warn });
  diag.setLogger(sink, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  setGlobalErrorHandler(() => undefined);
}
