import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { VERSION } from '../../src/config/config.js';
import { Collector, type ReceivedSpan } from '../support/collector.js';
import { ENGINE } from '../support/engine.js';
import type { Sent } from '../support/received.js';
import { ServiceProcess } from '../support/service-process.js';

const SERVER = 2;
const CLIENT = 3;
const UNSET = { code: 0 };
const ERROR = { code: 2 };
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

let collector: Collector;
let service: ServiceProcess;
beforeAll(async () => {
  collector = await Collector.start();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '20' };
  service = await ServiceProcess.start({ env });
});
afterAll(async () => {
  await service.remove();
  await collector.stop();
});
beforeEach(() => service.store.execute('DELETE FROM plants'));

let sent = 0;
const body = () => `{"id":${++sent},"name":"Quercus"}`;
const isCommit = ({ name }: ReceivedSpan) => name === 'commit plants';
const isRequest = (span: ReceivedSpan) => span.kind === SERVER;
const childOf = (request?: ReceivedSpan) => (span: ReceivedSpan) =>
  isCommit(span) && span.parentSpanId === request?.spanId && span.traceId === request?.traceId;
const durationOf = (span?: ReceivedSpan) =>
  BigInt(span?.endTimeUnixNano ?? 0) - BigInt(span?.startTimeUnixNano ?? 0);
const outcome = (status: number, error: number) => ({
  'http.response.status_code': status,
  'plant_store.error': error,
});

/** Sends a request. Returns its span. */
async function traced(request: Sent): Promise<ReceivedSpan> {
  const client = service.client();
  const id = `request-${++sent}`;
  const headers = { ...(request.headers ?? client.headers), 'x-request-id': id };
  await client.send({ ...request, headers });
  const isIts = ({ attributes }: ReceivedSpan) => attributes['plant_store.request_id'] === id;
  const [span] = await collector.received(1, isIts);
  if (!span) throw new Error('no span');
  return span;
}

function withHeaders(headers: NonNullable<Sent['headers']>): Sent {
  return { headers: { ...service.client().headers, ...headers }, body: body() };
}

describe('the span of a request', () => {
  it('has the result of the request, and its commit is its child', async () => {
    const span = await traced({ body: body() });
    expect(span).toMatchObject({ name: 'POST /plants', kind: SERVER, status: UNSET });
    expect(span).not.toHaveProperty('parentSpanId');
    expect(durationOf(span)).toBeGreaterThan(0n);
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/plants',
      'http.response.status_code': 200,
      'url.scheme': 'http',
      'url.path': '/plants',
      'plant_store.request_id': expect.stringMatching(/^request-/),
    });
    expect(span.resource).toMatchObject({
      'service.name': 'plant-store',
      'service.version': VERSION,
      'service.instance.id': expect.stringMatching(/^[\da-f-]{36}$/),
      'telemetry.sdk.language': 'nodejs',
    });
    const [commit] = await collector.received(1, childOf(span));
    expect(commit).toMatchObject({ name: 'commit plants', kind: CLIENT, status: UNSET, links: [] });
    expect(durationOf(commit)).toBeGreaterThan(0n);
    expect(commit?.attributes).toEqual({
      'db.system.name': ENGINE === 'sqlite' ? 'sqlite' : 'postgresql',
      'db.operation.name': 'INSERT',
      'db.collection.name': 'plants',
      'plant_store.plants': 1,
    });
  });

  it("continues the client's trace, if its traceparent is valid", async () => {
    const tracestate = 'a=1,b=2';
    const span = await traced(withHeaders({ traceparent: `00-${TRACE}-${PARENT}-03`, tracestate }));
    expect(span).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, traceState: tracestate });
    const own = await traced(withHeaders({ traceparent: 'nonsense', tracestate }));
    expect(own.attributes).toMatchObject({ 'http.response.status_code': 200 });
    expect(own).not.toHaveProperty('parentSpanId');
    expect(own).not.toHaveProperty('traceState');
  });

  it("does not exist if the client does not record, nor does its commit's span", async () => {
    collector.clear();
    const unsampled = withHeaders({ traceparent: `00-${'ab'.repeat(16)}-${PARENT}-00` });
    expect((await service.client().send(unsampled)).status).toBe(200);
    const span = await traced({ body: body() });
    expect(await collector.received(1, isCommit)).toEqual([
      expect.objectContaining({ parentSpanId: span.spanId }),
    ]);
    expect(collector.spans.filter(isRequest)).toEqual([span]);
  });

  it.each<[Sent, string, Record<string, unknown>]>([
    [{ body: '{' }, 'POST /plants', outcome(400, 1000)],
    [{ headers: {} }, 'POST /plants', outcome(401, 2000)],
    [{ method: 'GET', headers: {} }, 'GET /plants', outcome(405, 3001)],
    [
      { method: 'PURGE' },
      'PURGE /plants',
      { ...outcome(405, 3001), 'http.request.method': 'PURGE' },
    ],
    [
      { method: 'GET', path: '/openapi.json?a=b', headers: {} },
      'GET /openapi.json',
      { 'url.path': '/openapi.json', 'http.response.status_code': 200 },
    ],
  ])('of %j is named %j', async (request, name, attributes) => {
    const span = await traced(request);
    expect(span).toMatchObject({ name, status: UNSET, links: [] });
    expect(span.attributes).toMatchObject(attributes);
    expect(span.attributes).not.toHaveProperty(['error.type']);
  });

  it('of an unknown path, which may contain a token, does not have the path', async () => {
    const path = `/nowhere/${service.token}?access_token=${service.token}`;
    const span = await traced({ method: 'GET', path, headers: {} });
    expect(span.name).toBe('GET');
    expect(Object.keys(span.attributes).join()).not.toMatch(/url\.(?!scheme)|route/);
  });
});

describe('the span of a commit', () => {
  it('is a child of every request of its group, with the size of the group', async () => {
    collector.clear();
    const bodies = Array.from({ length: 200 }, body);
    await Promise.all(bodies.map((each) => service.client().post(each)));
    const requests = await collector.received(200, isRequest);
    const commits = await collector.received(200, isCommit);
    expect(commits.map(({ traceId, parentSpanId }) => [traceId, parentSpanId]).sort()).toEqual(
      requests.map(({ traceId, spanId }) => [traceId, spanId]).sort(),
    );
    const sizes = commits.map(({ attributes }) => Number(attributes['plant_store.plants']));
    expect(Math.max(...sizes)).toBeGreaterThan(1);
    for (const [size, spans] of Object.entries(Object.groupBy(sizes, String))) {
      expect((spans?.length ?? 0) % Number(size)).toBe(0);
    }
  });

  it("has only the kind of the error, like the request's; no span has data of a token or a plant", async () => {
    await service.store.refuse('Salix');
    const span = await traced({ body: '{"id":0,"name":"Salix","tag":"secret"}' });
    expect([span.status, span.events]).toEqual([ERROR, []]);
    expect(span.attributes).toMatchObject({ ...outcome(500, 5000), 'error.type': '500' });
    const [commit] = await collector.received(1, childOf(span));
    expect([commit?.status, commit?.events]).toEqual([ERROR, []]);
    expect(commit?.attributes['error.type']).toBe(
      ENGINE === 'sqlite' ? 'SQLITE_CONSTRAINT_TRIGGER' : '23514',
    );

    // All exports of this file.
    for (const { url, headers, body } of collector.exports) {
      expect([url, headers['content-type']]).toEqual(['/v1/traces', 'application/json']);
      expect(body.toString()).not.toMatch(/Bearer|Quercus|Salix|secret/);
      expect(body.toString()).not.toContain(service.token);
    }
  });
});
