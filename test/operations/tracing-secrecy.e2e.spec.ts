import { expect, it } from '@jest/globals';
import type { Sent } from '../support/received.js';
import { collector, makeTracedService, service } from './traced-service.js';

makeTracedService();

/** Sends a request. Returns the span of the id that its response has. */
async function trace(request: Sent) {
  const { headers } = await service.client().send(request);
  const id = headers['x-request-id'];
  const isIts = ({ attributes }: { readonly attributes: Record<string, unknown> }) =>
    attributes['plant_store.request_id'] === id;
  const [span] = await collector.received(1, isIts);
  return { id, span };
}

it('an unknown path, which may contain a token, is not in the span', async () => {
  const path = `/nowhere/${service.token}?access_token=${service.token}`;
  const { span } = await trace({ method: 'GET', path, headers: {} });
  expect(span?.name).toBe('GET');
  expect(Object.keys(span?.attributes ?? {}).filter((name) => /url|route/.test(name))).toEqual([
    'url.scheme',
  ]);
});

it('the span has a new id if the client sent its token as request id', async () => {
  const { headers } = service.client();
  const body = '{"id":1,"name":"Quercus"}';
  const { id, span } = await trace({
    headers: { ...headers, 'x-request-id': service.token },
    body,
  });
  expect(id).toMatch(/^[\da-f-]{36}$/);
  expect(span).toBeDefined();
});

it('spans go to /v1/traces as JSON, without data of a token or a plant', async () => {
  const { headers } = service.client();
  await service.store.refuse('Salix');
  for (const name of ['Quercus', 'Salix'])
    await trace({ headers, body: `{"id":2,"name":"${name}","tag":"secret"}` });
  const commits = await collector.received(2, ({ name }) => name === 'commit plants');
  expect(commits.length).toBeGreaterThanOrEqual(2);
  for (const { url, headers, body } of collector.exports) {
    expect(url).toBe('/v1/traces');
    expect(headers['content-type']).toBe('application/json');
    const text = body.toString();
    for (const secret of [service.token, 'Bearer', 'Quercus', 'Salix', 'secret']) {
      expect(text).not.toContain(secret);
    }
  }
});
