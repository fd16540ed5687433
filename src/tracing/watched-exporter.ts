import type { Logger } from '@nestjs/common';
import { ExportResultCode, type ExportResult } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { describeError } from '../describe-error.js';

/** An exporter that says once in the log that the collector is away, and once that it is back. */
export class WatchedExporter implements SpanExporter {
  private isAway = false;

  constructor(
    private readonly exporter: SpanExporter,
    private readonly logger: Logger,
  ) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.exporter.export(spans, (result) => {
      this.note(result);
      done(result);
    });
  }

  async shutdown(): Promise<void> {
    await this.exporter.shutdown();
  }

  private note({ code, error }: ExportResult): void {
    const isAway = code !== ExportResultCode.SUCCESS;
    if (isAway === this.isAway) return;
    this.isAway = isAway;
    if (isAway) this.logger.warn(`The collector does not take traces: ${describeError(error)}`);
    else this.logger.log('The collector takes traces again.');
  }
}
