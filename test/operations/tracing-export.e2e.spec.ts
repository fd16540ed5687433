/** @engine sqlite */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Collector, type ReceivedSpan } from '../support/collector.js';
import { createStore } from '../support/engine.js';
import { ServiceProcess } from '../support/service-process.js';

let collector: Collector;
let service: ServiceProcess;
beforeEach(async () => {
  collector = await Collector.start();
});
afterEach(async () => {
  await service.remove();
  await collector.stop();
});

const PROBE = new URL('./loaded-scripts.js', import.meta.url).href;
const isRequest = ({ kind }: ReceivedSpan) => kind === 2;
const count = (text: string) => service.output.split(text).length - 1;

/** Starts the service with variables besides the collector's address. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
  service = await ServiceProcess.start({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env },
  });
}

/** Sends plants until the condition is true. */
async function sendUntil(isSo: () => boolean): Promise<void> {
  for (let id = 0n; !isSo(); id++) {
    expect((await service.client().create({ id, name: 'oak' })).status).toBe(200);
    await sleep(5);
  }
}

describe('SIGTERM', () => {
  it('is not delayed by a collector that does not respond', async () => {
    collector.responds = false;
    await start();
    await service.client().create({ id: 1n, name: 'oak' });
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(count('the last traces are lost')).toBe(1);
  });
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
    const store = await createStore();
    const file = join(store.folder, 'headers');
    writeFileSync(file, 'authorization=Bearer%20collectors-secret\n');
    collector.status = 401;
    service = await ServiceProcess.start({
      store,
      env: {
        ...env,
        LOG_LEVEL: 'trace',
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/prefix/`,
        OTEL_EXPORTER_OTLP_HEADERS_FILE: file,
      },
    });
    await sendUntil(() => count('traces is unavailable: Unauthorized') > 0);
    expect(collector.exports[0]).toMatchObject({
      url: '/prefix/v1/traces',
      headers: { authorization: 'Bearer collectors-secret' },
    });
    expect(service.output).not.toContain('collectors-secret');
  });
});

describe("OpenTelemetry's own variables", () => {
  it('set the resource, the address and the sampler; an invalid one is logged once', async () => {
    await start({
      OTEL_SERVICE_NAME: 'greenhouse',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=x,service.instance.id=a,deployment.environment=test',
      OTEL_TRACES_SAMPLER: 'nonsense',
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/traces`,
    });
    await service.client().create({ id: 1n, name: 'oak' });
    const [span] = await collector.received(1, isRequest);
    expect(span?.resource).toMatchObject({
      'service.name': 'greenhouse',
      'service.instance.id': 'a',
      'deployment.environment': 'test',
    });
    expect(collector.exports[0]?.url).toBe('/traces');
    expect(count('OTEL_TRACES_SAMPLER value "nonsense" invalid')).toBe(1);
  });

  it('OTEL_TRACES_SAMPLER=parentbased_always_off lets clients decide', async () => {
    await start({
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
      OTEL_BSP_SCHEDULE_DELAY: '10',
    });
    const client = service.client();
    await client.create({ id: 1n, name: 'oak' });
    const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
    await client.post('{"id":2,"name":"oak"}', { ...client.headers, traceparent });
    const [request] = await collector.received(1, isRequest);
    const [commit] = await collector.received(1, ({ name }) => name === 'commit plants');
    expect(request?.traceId).toBe('ab'.repeat(16));
    expect(commit).toMatchObject({ traceId: request?.traceId, parentSpanId: request?.spanId });
    expect(collector.spans).toHaveLength(2);
  });
});

describe('OpenTelemetry', () => {
  it.each([
    ['is not loaded without a collector', false],
    ['is loaded with a collector', true],
  ])('%s', async (_title, isTraced) => {
    const store = await createStore();
    const file = join(store.folder, 'scripts');
    const endpoint = isTraced ? { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } : {};
    const env = { NODE_OPTIONS: `--import ${PROBE}`, LOADED_SCRIPTS: file, ...endpoint };
    service = await ServiceProcess.start({ store, env });
    expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
    service.signal('SIGTERM');
    await service.exited;
    const scripts = readFileSync(file, 'utf8').split('\n');
    expect(scripts.some((path) => path.endsWith('src/plants/plants.controller.js'))).toBe(true);
    expect(scripts.some((path) => /node_modules.express.index\.js/.test(path))).toBe(true);
    // prom-client loads the API, which does nothing by itself.
    expect(scripts.some((path) => /@opentelemetry.(?!api\b)/.test(path))).toBe(isTraced);
    // No identity provider is set.
    expect(scripts.filter((path) => /node_modules.jose\b/.test(path))).toEqual([]);
  });
});
