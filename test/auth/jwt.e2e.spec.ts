/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { bySecret, forge } from '../support/forger.js';
import { AUDIENCE, IdentityProvider, SigningKey } from '../support/identity-provider.js';
import type { Received } from '../support/received.js';
import { Service } from '../support/service.js';

const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** All of Jest's fake timers but Date. */
const REAL = [
  ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate'] as const),
  ...(['setInterval', 'setTimeout', 'clearImmediate', 'clearInterval', 'clearTimeout'] as const),
];
const PLANT = '{"id":7,"name":"oak"}';

let provider: IdentityProvider;
let service: Service;
beforeAll(async () => {
  provider = await IdentityProvider.start();
  service = await Service.start(provider.env);
  // On a busy machine its first request for the keys may time out.
  await postUntil(200, await provider.token());
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

/** Sends a plant with a token. */
function post(token: string, to = service): Promise<Received> {
  return to.client.post(PLANT, {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
  });
}

/** Sends a plant with a token until the response has this status. */
async function postUntil(status: number, token: string, to = service): Promise<Received> {
  for (;;) {
    const response = await post(token, to);
    if (response.status === status) return response;
    await sleep(100);
  }
}

it('refuses a token that has expired since its last use', async () => {
  const token = await provider.token();
  expect((await post(token)).status).toBe(200);
  jest.useFakeTimers({ now: Date.now() + 632_000, doNotFake: REAL });
  const { status } = await post(token);
  jest.useRealTimers();
  expect(status).toBe(401);
});

describe('the provider', () => {
  it('is unavailable: known keys keep working, for new tokens too', async () => {
    const seen = await provider.token();
    const unseen = await provider.token();
    expect((await post(seen)).status).toBe(200);
    await provider.stop();
    expect((await post(seen)).status).toBe(200);
    expect((await post(unseen)).status).toBe(200);
    await provider.listen();
  });

  it('has a new key: the service finds it and refuses the old one', async () => {
    const old = await provider.token();
    expect((await post(old)).status).toBe(200);
    await provider.use([await SigningKey.create('second')]);
    await postUntil(200, await provider.token());
    expect(await post(old)).toMatchObject({ status: 401, body: { error: 2001 } });
  });
});

it('the provider is unavailable from the start: 503 until it is up, except for the service’s own tokens', async () => {
  const token = await provider.token();
  await provider.stop();
  const early = await Service.start(provider.env);
  expect(await post(token, early)).toMatchObject({
    status: 503,
    body: { error: 5004, message: 'the identity provider is unavailable' },
    headers: { 'retry-after': '5' },
  });
  expect((await post(early.token, early)).status).toBe(200);
  expect((await post('no.json.web', early)).status).toBe(401);
  // No key would make this token valid, so the service need not wait for one.
  expect((await post(forge({ alg: 'HS256' }, {}, bySecret('')), early)).status).toBe(401);
  await provider.listen();
  expect((await postUntil(200, token, early)).status).toBe(200);
  await early.stop();
});

it('the keys of the provider are loaded at the start, before there is a token', async () => {
  const own = await IdentityProvider.start();
  const early = await Service.start(own.env);
  while (!own.asked.includes('/jwks')) await sleep(20);
  await early.stop();
  await own.stop();
});

it('AUTH_SCOPE is the word of the provider for plants:create, and the only one', async () => {
  const word = 'https://plants.example/create';
  const named = await Service.start({ ...provider.env, AUTH_SCOPE: word });
  const exp = Math.floor(Date.now() / 1000) + 60;
  const claims = { iss: provider.url, aud: AUDIENCE, sub: 'x', exp };
  const sign = (scope: string) => provider.key('second').sign({ ...claims, scope });
  await postUntil(200, await sign(`x ${word}`), named);
  expect(await post(await sign('plants:create'), named)).toMatchObject({
    status: 403,
    headers: { 'www-authenticate': expect.stringContaining(`scope="${word}"`) },
  });
  await named.stop();
});

it('accepts every asymmetric algorithm, each with its own key only', async () => {
  const all = await IdentityProvider.start(ALGORITHMS);
  const ready = await Service.start(all.env);
  const exp = Math.floor(Date.now() / 1000) + 60;
  const claims = { iss: all.url, aud: AUDIENCE, sub: 'x', scope: 'plants:create', exp };
  for (const alg of ALGORITHMS) {
    const token = await all.key(alg).sign(claims);
    expect([alg, (await post(token, ready)).status]).toEqual([alg, 200]);
    const [first, second] = ALGORITHMS.filter((other) => other !== alg);
    for (const kid of [first, second, undefined]) {
      // RS256 and RS512 could use each other's keys; the key set names the algorithm of each.
      const other = await all.key(alg).sign(claims, { kid: kid as string });
      const fits = kid === undefined;
      expect([alg, kid, (await post(other, ready)).status]).toEqual([alg, kid, fits ? 200 : 401]);
    }
  }
  await ready.stop();
  await all.stop();
});
