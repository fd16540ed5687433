import type { Logger } from '@nestjs/common';
import { diag, DiagLogLevel } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';

/** Different complaints that are logged at the most. */
const BOUND = 100;

/**
 * Logs what OpenTelemetry complains of, a variable that it cannot read, say, or spans that it drops:
 * each once, whatever numbers are in it. An export that fails, the exporter itself tells of.
 */
export function logDiagnostics(logger: Logger): void {
  const said = new Set<string>();
  const say = (...parts: unknown[]): void => {
    const text = parts.filter((part) => typeof part === 'string').join(' ');
    const gist = text.replace(/\d+/g, '0');
    if (said.has(gist) || said.size >= BOUND) return;
    said.add(gist);
    logger.warn(`OpenTelemetry: ${text}`);
  };
  const nothing = (): void => undefined;
  const sink = { error: say, warn: say, info: nothing, debug: nothing, verbose: nothing };
  diag.setLogger(sink, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  setGlobalErrorHandler(nothing);
}
