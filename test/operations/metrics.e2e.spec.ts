/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { VERSION } from '../../src/config/config.js';
import { createSecret } from '../../src/auth/tokens/token-secret.js';
import { ERRORS } from '../../src/errors/error-codes.js';
import { PRINT_ARRIVALS } from '../support/cli.js';
import { parseMetrics, samplesOf, valueOf, type Metrics } from '../support/monitor.js';
import { createStore } from '../support/engine.js';
import { requestText } from '../support/raw-connection.js';
import { ServiceProcess } from '../support/service-process.js';

let service: ServiceProcess;
beforeAll(async () => {
  // A plant that waits for the locked store must not time out, even on a slow machine.
  const store = await createStore();
  const env = {
    ...PRINT_ARRIVALS,
    MANAGEMENT_PORT: '0',
    DATABASE_TIMEOUT: '60s',
    GIT_COMMIT: 'a1b2c3',
  };
  service = await ServiceProcess.start({ store, env });
});
afterAll(() => service.remove());

/** The metrics after `count` requests. The last may be counted after its client has the response. */
async function metricsAfter(requests: number): Promise<Metrics> {
  for (;;) {
    const metrics = await service.monitor.metrics();
    const ended = samplesOf(metrics, 'plant_store_requests_total');
    if (ended.reduce((sum, [, count]) => sum + count, 0) >= requests) return metrics;
    await sleep(10);
  }
}

const outcome = (status: number | string, error: number | string) =>
  `plant_store_requests_total{status="${status}",error="${error}"}`;

it('all metrics are zero before the first request, and the store is up', async () => {
  const metrics = await service.monitor.metrics();
  const rows = Object.values(ERRORS).map(({ status, error }) => outcome(status, error));
  expect(samplesOf(metrics, 'plant_store_requests_total')).toEqual(
    [outcome(200, 'none'), outcome('none', 'none'), ...rows].map((sample) => [sample, 0]),
  );
  expect(valueOf(metrics, 'plant_store_commit_group_plants_count')).toBe(0);
  expect(valueOf(metrics, 'plant_store_plants_stored_total')).toBe(0);
  expect(valueOf(metrics, 'plant_store_store_up')).toBe(1);
});

it('counts every request once, by status and error number', async () => {
  const client = service.client();
  const { authorization = '', ...rest } = client.headers;
  const wrong = { ...rest, authorization: `${authorization.slice(0, -1)}!` };
  const unknown = { ...rest, authorization: `Bearer ${createSecret()}` };
  const get = { method: 'GET', headers: {} };
  for (const send of [
    () => client.create({ id: 1n, name: 'oak' }),
    () => client.create({ id: 2n, name: 'elm' }),
    () => client.create({ id: 3n, name: 'ash' }),
    () => client.create({ id: 3n, name: 'ash' }),
    () => client.create({ id: 3n, name: 'fir' }),
    () => client.post('{'),
    () => client.post('{"id":"4","name":"oak"}'),
    () => client.post('{}', rest),
    () => client.post('{}', wrong),
    () => client.post('{}', unknown),
    () => client.send({ ...get, path: '/nowhere' }),
    () => client.send(get),
    () => client.send({ ...get, path: '/openapi.json' }),
  ])
    await send();

  // A client that leaves while its plant waits for the store.
  const unlock = await service.store.lock();
  const connection = await service.connect();
  connection.write(requestText(client.headers, '{"id":5,"name":"yew"}'));
  await service.arrived(11);
  connection.socket.resetAndDestroy();
  const metrics = await metricsAfter(14);
  await unlock();

  const samples = samplesOf(metrics, 'plant_store_requests_total');
  const counts = Object.fromEntries(samples.filter(([, count]) => count > 0));
  expect(counts).toEqual({
    [outcome(200, 'none')]: 5,
    [outcome(400, 1000)]: 1,
    [outcome(400, 1003)]: 1,
    [outcome(400, 1004)]: 1,
    [outcome(401, 2000)]: 1,
    [outcome(401, 2001)]: 2,
    [outcome(404, 3000)]: 1,
    [outcome(405, 3001)]: 1,
    [outcome('none', 'none')]: 1,
  });
  const duration = 'plant_store_request_duration_seconds';
  expect(valueOf(metrics, `${duration}_count{status="200"}`)).toBe(5);
  expect(valueOf(metrics, `${duration}_bucket{le="+Inf",status="400"}`)).toBe(3);
  expect(valueOf(metrics, `${duration}_count{status="none"}`)).toBe(1);
  expect(valueOf(metrics, `${duration}_sum{status="200"}`)).toBeGreaterThan(0);
});

it('counts plants, groups and commits', async () => {
  while (valueOf(await service.monitor.metrics(), 'plant_store_plants_stored_total') < 4)
    await sleep(10);
  const metrics = await service.monitor.metrics();
  const values = Object.fromEntries(
    [
      'plants_stored_total',
      'commit_group_plants_sum',
      'commit_group_plants_count',
      'commit_group_plants_bucket{le="1"}',
      'commit_duration_seconds_count',
      'commit_failures_total',
      'queue_plants',
      `build_info{version="${VERSION}",commit="a1b2c3"}`,
    ].map((name) => [name, valueOf(metrics, `plant_store_${name}`)]),
  );
  expect(Object.values(values)).toEqual([4, 6, 6, 6, 6, 0, 0, 1]);
});

it('counts a failed commit, and no plants of it', async () => {
  await service.store.refuse('bad');
  expect((await service.client().create({ id: 9n, name: 'bad' })).status).toBe(500);
  const metrics = await service.monitor.metrics();
  expect(valueOf(metrics, 'plant_store_commit_failures_total')).toBe(1);
  expect(valueOf(metrics, 'plant_store_commit_group_plants_count')).toBe(6);
});

it("the text is in Prometheus's format", async () => {
  const { headers, text } = await service.monitor.send('GET', '/metrics');
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(parseMetrics(text).has('nodejs_eventloop_lag_seconds')).toBe(true);
});
