/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it, jest } from '@jest/globals';
import { Client } from '../support/client.js';
import { requestText } from '../support/raw-connection.js';
import { Service } from '../support/service.js';
import { tally } from '../support/received.js';

let service: Service;
afterEach(() => {
  jest.restoreAllMocks();
  return service.stop();
});

const REFUSED = '429 {"error":4000,"message":"over the rate limit of the token"}';
const body = '{"id":1,"name":"n"}';

it('RATE_LIMIT=5/h counts the requests of each token, valid or not, and reports how many remain', async () => {
  service = await Service.start({ RATE_LIMIT: '5/h' });
  using other = new Client(service.port, (await service.tokens.create('other')).secret);
  const bodies = [body, '', body, '{', body, body, ''];
  const responses = [];
  for (const text of bodies) responses.push(await service.client.post(text));
  expect(responses.map(({ status }) => status)).toEqual([200, 400, 200, 400, 200, 429, 429]);
  for (const [i, { headers }] of responses.entries()) {
    expect(headers['ratelimit-policy']).toBe('"token";q=5;w=3600');
    const [, left, seconds] = /^"token";r=(\d+);t=(\d+)$/.exec(headers.ratelimit ?? '') ?? [];
    expect(left).toBe(String(Math.max(0, 4 - i)));
    expect(Number(seconds)).toBeGreaterThan(0);
    expect(Number(seconds)).toBeLessThanOrEqual(3_600);
    expect(headers['retry-after']).toBe(i < 5 ? undefined : seconds);
  }
  expect(tally(responses.slice(5))).toEqual({ [REFUSED]: 2 });
  // Requests without a valid token are not counted, and each token has its own limit.
  const stranger = await service.client.post(body, {});
  expect(stranger.headers).not.toHaveProperty('ratelimit');
  expect((await other.post(body)).headers.ratelimit).toMatch(/r=4/);
  // Refused before the body is read.
  const headers = { ...service.client.headers, 'content-length': '20', expect: '100-continue' };
  expect(tally([await service.sendBytes(requestText(headers))])).toEqual({ [REFUSED]: 1 });
});

it('with RATE_LIMIT, a malformed chunk gets its 400, and no line of a failure', async () => {
  service = await Service.start({ NODE_ENV: 'production', RATE_LIMIT: '5/h' });
  const head = requestText({ ...service.client.headers, 'transfer-encoding': 'chunked' });
  expect((await service.sendBytes(`${head}zz\r\n`)).status).toBe(400);
  // The guard of the malformed request has run by then.
  expect((await service.client.post(body)).headers.ratelimit).toMatch(/r=3/);
  expect(service.log.lines('Errors')).toEqual([]);
});

it('RATE_LIMIT=3/s: a refused request succeeds after the seconds in Retry-After', async () => {
  service = await Service.start({ RATE_LIMIT: '3/s' });
  const responses = await Promise.all(Array.from({ length: 20 }, () => service.client.post(body)));
  const refused = responses.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  const seconds = Number(refused[0]?.headers['retry-after']);
  await sleep(seconds * 1_000);
  expect((await service.client.post(body)).status).toBe(200);
});

it.each([
  ['back', -3_600_000, 429],
  // The library then takes the window for over.
  ['forward', 3_600_000, 200],
])('RATE_LIMIT=1/m: a wall clock that is set %s locks nobody out', async (_how, change, status) => {
  service = await Service.start({ RATE_LIMIT: '1/m' });
  expect((await service.client.post(body)).status).toBe(200);
  const clock = Date.now.bind(Date);
  const now = jest.spyOn(Date, 'now').mockImplementation(() => clock() + change);
  expect((await service.client.post(body)).status).toBe(status);
  // Set right again, as by NTP.
  if (change > 0) now.mockRestore();
  const { headers, status: last } = await service.client.post(body);
  expect(last).toBe(429);
  expect(headers).toMatchObject({ ratelimit: '"token";r=0;t=60', 'retry-after': '60' });
});
