import { execFile } from 'node:child_process';
import { hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEnv, promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createSecret } from '../../src/auth/tokens/token-secret.js';
import { ENGINE } from '../support/engine.js';
import { end, listen } from '../support/local-server.js';
import { cli, makeStore, store } from '../support/own.js';
import { blockOf } from '../support/published.js';
import { ENDED, ServiceProcess } from '../support/service-process.js';

/** A span of OTLP in JSON (opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding"). */
interface Span {
  readonly traceId: string;
  readonly parentSpanId?: string;
  /** 2: of a server; 3: of a client. */
  readonly kind: number;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: Readonly<Record<string, unknown>>;
  }[];
}

interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { spans: Span[] }[] }[];
}

makeStore();

/** What the collector has received. */
const received: string[] = [];
const collector = createServer((request, response) => {
  void buffer(request).then((body) => {
    received.push(body.toString());
    response.end();
  });
});

/** The variables of docs/monitoring.md, with the instrumentation installed as it says. */
let env: Record<string, string>;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plant-traces-'));
  const [install = '', variables = ''] = ['sh', 'ini'].map((language) =>
    blockOf('docs/monitoring.md', 'Traces', language).replaceAll('/opt/otel', folder),
  );
  await promisify(execFile)('sh', ['-euc', install]);
  env = {
    ...(parseEnv(variables) as Record<string, string>),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await listen(collector)}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    NODE_ENV: 'production',
  };
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await end(collector);
});

const spans = (): Span[] =>
  received
    .map((body) => JSON.parse(body) as Export)
    .flatMap(({ resourceSpans }) => resourceSpans.flatMap((resource) => resource.scopeSpans))
    .flatMap((scope) => scope.spans);

const attributesOf = ({ attributes }: Span) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

it("continues a client's trace, in spans and the log, without tokens, plants and parameters", async () => {
  await cli('migrate');
  const token = (await cli('token create nursery')).stdout.trim();
  const unknown = createSecret();
  await store.refuse('MarkRefused');
  const service = await ServiceProcess.start({ store, token, env });
  const client = service.client();
  const bodies = [
    '{"id":7654321234567,"name":"MarkName","tag":"MarkTag"}',
    '{"id":7654321234567,"name":"MarkOther"}',
    '{"id":7654321234568,"name":"MarkRefused"}',
    '{"id":"7654321234569","name":"MarkInvalid"}',
  ];
  const traces = new Map<string, number>();
  const send = async (body: string, headers = client.headers) => {
    const traceId = randomBytes(16).toString('hex');
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    const { status } = await client.post(body, { ...headers, traceparent });
    traces.set(traceId, status);
  };
  for (const body of bodies) await send(body);
  await send('', { ...client.headers, authorization: `Bearer ${unknown}` });
  expect([...traces.values()]).toEqual([200, 400, 500, 400, 401]);

  const ofServer = () => spans().filter(({ kind, traceId }) => kind === 2 && traces.has(traceId));
  while (ofServer().length < traces.size) await sleep(20);
  for (const span of ofServer()) {
    expect(span.parentSpanId).toBe('b7ad6b7169203331');
    expect(attributesOf(span)).toMatchObject({
      'http.request.method': 'POST',
      'url.path': '/plants',
      'http.response.status_code': traces.get(span.traceId),
    });
  }
  expect(await service.stop()).toEqual(ENDED);
  for (const traceId of traces.keys())
    expect(service.output).toMatch(new RegExp(`"trace_id":"${traceId}".*"msg":"POST /plants`));

  const statements = spans().map((span) => attributesOf(span)['db.query.text']);
  const insert = expect.stringContaining('INSERT INTO "plants"');
  if (ENGINE === 'postgres') expect(statements).toContainEqual(insert);
  const secrets = [token, unknown].flatMap((secret) => [secret, hash('sha256', secret)]);
  for (const text of [...secrets, 'nursery', '7654321234', 'Mark'])
    expect(received.filter((body) => body.includes(text))).toEqual([]);
});
