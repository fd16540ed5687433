import type { Logger } from '@nestjs/common';
import { ExportResultCode, type ExportResult } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { Outage } from '../errors/outage.js';

/** An exporter that logs when the collector is unavailable, and when it is back. */
export class WatchedExporter implements SpanExporter {
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
