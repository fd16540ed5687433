import { afterAll, beforeAll } from '@jest/globals';
import { Collector } from '../support/collector.js';
import { ServiceProcess } from '../support/service-process.js';

/** A collector of traces, and a service that sends them to it soon: one of each for the tests of a file. */
export let collector: Collector;
export let service: ServiceProcess;

/** Starts both before the tests of a file, and stops them after. */
export function makeTracedService(): void {
  beforeAll(async () => {
    collector = await Collector.start();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '20' };
    service = await ServiceProcess.start({ env });
  });
  afterAll(async () => {
    await service.remove();
    await collector.stop();
  });
}
