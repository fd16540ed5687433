import type { Config } from '../config/config.js';
import type { Tracing } from './tracing.js';

/** Loads OpenTelemetry where the configuration names a collector, and only there. */
export async function openTracing(config: Config): Promise<Tracing | undefined> {
  if (config.otlpEndpoint === undefined) return undefined;
  const { OpenTelemetry } = await import('./open-telemetry.js');
  return new OpenTelemetry(config, config.otlpEndpoint);
}
