import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  type Resource,
} from '@opentelemetry/resources';
import type { Config } from '../config/config.js';
import { VERSION } from '../version.js';

/** Who sends the spans: this process. `OTEL_RESOURCE_ATTRIBUTES` adds to it, and wins but for the name. */
export function resourceOf({ otelServiceName }: Config): Resource {
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
