/** @engine sqlite */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Collector } from '../support/collector.js';
import { makeStore, store } from '../support/own-store.js';
import { ENDED, ServiceProcess } from '../support/service-process.js';

let collector: Collector;
let service: ServiceProcess;
makeStore(async () => {
  await service.kill();
  await collector.stop();
});
beforeEach(async () => {
  collector = await Collector.start();
});

const count = (text: string) => service.output.split(text).length - 1;

/** Starts the service with variables besides the collector's address. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
  const own = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  service = await ServiceProcess.start({ store, env: { ...own, ...env } });
}

/** Sends plants until the condition is true. */
async function sendUntil(isSo: () => boolean): Promise<void> {
  for (let id = 0n; !isSo(); id++) {
    expect((await service.client().create({ id, name: 'oak' })).status).toBe(200);
    await sleep(5);
  }
}

it('a stop is not delayed by a collector that does not respond', async () => {
  collector.responds = false;
  await start();
  await service.client().create({ id: 1n, name: 'oak' });
  expect(await service.stop()).toEqual(ENDED);
  expect(count('the last traces are lost')).toBe(1);
});

describe('a collector that is unavailable', () => {
  // One attempt for each export, so that the test need not wait for retries.
  const env = { OTEL_BSP_SCHEDULE_DELAY: '10', OTEL_EXPORTER_OTLP_TIMEOUT: '500' };

  it('is logged once, affects no request, and its return is logged once', async () => {
    const { port } = collector;
    await start(env);
    await collector.stop();
    await sendUntil(() => count('the collector of traces is unavailable') > 0);
    let more = 20;
    await sendUntil(() => more-- === 0);
    expect(count('WARN')).toBe(1);
    expect(service.output).toContain('ECONNREFUSED');
    collector = await Collector.start(port);
    await sendUntil(() => count('the collector of traces is available again') > 0);
    expect(count('the collector of traces is unavailable')).toBe(1);
    expect(collector.spans.length).toBeGreaterThan(0);
  });

  it('refuses: the log has the reason, but not the secret that was sent', async () => {
    const file = join(store.folder, 'headers');
    writeFileSync(file, 'authorization=Bearer%20collectors-secret\n');
    collector.status = 401;
    await start({
      ...env,
      LOG_LEVEL: 'trace',
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/prefix/`,
      OTEL_EXPORTER_OTLP_HEADERS_FILE: file,
    });
    await sendUntil(() => count('traces is unavailable: Unauthorized') > 0);
    expect(collector.exports[0]).toMatchObject({
      url: '/prefix/v1/traces',
      headers: { authorization: 'Bearer collectors-secret' },
    });
    expect(service.output).not.toContain('collectors-secret');
  });
});

it("OpenTelemetry's own variables set the resource and the address; an invalid one is logged once", async () => {
  await start({
    OTEL_SERVICE_NAME: 'greenhouse',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=x,service.instance.id=a,deployment.environment=test',
    OTEL_TRACES_SAMPLER: 'nonsense',
    OTEL_BSP_SCHEDULE_DELAY: '10',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/traces`,
  });
  await service.client().create({ id: 1n, name: 'oak' });
  const [span] = await collector.received(1, ({ kind }) => kind === 2);
  expect(span?.resource).toMatchObject({
    'service.name': 'greenhouse',
    'service.instance.id': 'a',
    'deployment.environment': 'test',
  });
  expect(collector.exports[0]?.url).toBe('/traces');
  expect(count('OTEL_TRACES_SAMPLER value "nonsense" invalid')).toBe(1);
});
