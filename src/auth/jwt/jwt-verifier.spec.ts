/** @engine sqlite */
import { pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { IdentityProvider, SigningKey } from '../../../test/support/identity-provider.js';
import { readConfig } from '../../config/environment.js';
import { ApiException, InvalidTokenException } from '../../errors/error-codes.js';
import { MAX_WAITING } from '../wait-limit.js';
import { JwtVerifier, MAX_VERIFYING } from './jwt-verifier.js';

const AUDIENCE = 'https://plants.example';
const key = await SigningKey.create('one');
/** Not the provider's, under the id of the provider's key. */
const stranger = await SigningKey.create('one');
const OVERLOADED = 5002;
const pbkdf2Async = promisify(pbkdf2);

let server: IdentityProvider;
let verifier: JwtVerifier;
beforeEach(async () => {
  Logger.overrideLogger(false);
  server = await IdentityProvider.start([]);
  server.responses = { '/jwks': { body: { keys: [key.publicJwk] } } };
  verifier = new JwtVerifier(
    readConfig({
      AUTH_ISSUER: server.url,
      AUTH_AUDIENCE: AUDIENCE,
      AUTH_JWKS_URL: `${server.url}/jwks`,
    }),
  );
});
afterEach(async () => {
  jest.restoreAllMocks();
  verifier.onApplicationShutdown();
  await server.stop();
});

/** A token that is valid if the provider's key signed it. */
function sign(by: SigningKey, sub: string, kid = 'one'): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + 600;
  const claims = { iss: server.url, aud: AUDIENCE, sub, scope: 'plants:create', exp };
  return by.sign(claims, { kid });
}

function signMany(by: SigningKey, count: number, kid = 'one'): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => sign(by, `n${i}`, kid)));
}

/** The name of a token's principal, undefined where it is invalid, or the number of the error. */
async function verify(token: string): Promise<string | number | undefined> {
  try {
    return (await verifier.verify(token)).name;
  } catch (error) {
    if (error instanceof InvalidTokenException) return undefined;
    if (error instanceof ApiException) return error.kind.error;
    throw error;
  }
}

/** Makes the keys known: a check no longer waits for the provider. */
async function learnKeys(): Promise<void> {
  expect(await verify(await sign(key, 'first'))).toBe('first');
}

const verifyAll = (tokens: string[]) => Promise.all(tokens.map(verify));

describe('forged tokens beyond the limit', () => {
  it('are refused until others are checked', async () => {
    const forged = await signMany(stranger, 2 * MAX_VERIFYING);
    await learnKeys();
    for (let time = 0; time < 2; time++) {
      const refused = (await verifyAll(forged)).filter((outcome) => outcome === OVERLOADED);
      expect(refused).toHaveLength(MAX_VERIFYING);
    }
    expect(await verify(await sign(key, 'second'))).toBe('second');
  });

  it('do not affect tokens that are known; others are checked when they come again', async () => {
    await learnKeys();
    const known = await sign(key, 'known');
    const unknown = await sign(key, 'unknown');
    expect(await verify(known)).toBe('known');
    const forged = await signMany(stranger, MAX_VERIFYING);
    const outcomes = await verifyAll([...forged, known, unknown]);
    expect(outcomes.slice(MAX_VERIFYING)).toEqual(['known', OVERLOADED]);
    expect(await verify(unknown)).toBe('unknown');
  });

  it('do not count while they wait for the provider, or without a key', async () => {
    const forged = await signMany(stranger, 2 * MAX_VERIFYING, 'unknown');
    const good = await sign(key, 'good');
    const outcomes = await verifyAll([...forged, good]);
    expect(new Set(outcomes)).toEqual(new Set([undefined, 'good']));
    expect(server.asked).toHaveLength(1);
  });
});

it.each([
  ['stay so if its key does', key, (tokens: readonly string[]) => tokens.map((_, i) => `n${i}`)],
  ['are refused if its key does not', await SigningKey.create('two'), () => [undefined]],
])('tokens that are known before the process stood still %s', async (_what, shown, expected) => {
  await learnKeys();
  const tokens = await signMany(key, 2 * MAX_VERIFYING);
  for (const token of tokens) await verify(token);
  server.responses = { '/jwks': { body: { keys: [shown.publicJwk] } } };
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + 65_000);
  expect(new Set(await verifyAll(tokens))).toEqual(new Set(expected(tokens)));
  expect(server.asked).toHaveLength(2);
});

it('requests beyond the limit are refused while others wait for the provider with the same token', async () => {
  const token = await sign(key, 'burst');
  const outcomes = await verifyAll(Array<string>(MAX_WAITING + 1).fill(token));
  expect(outcomes.pop()).toBe(OVERLOADED);
  expect(new Set(outcomes)).toEqual(new Set(['burst']));
  expect(await verify(token)).toBe('burst');
});

it.each<[string, SigningKey, string | undefined]>([
  ['a good one', key, 'burst'],
  ['a forged one', stranger, undefined],
])('a new token that comes many times at once is checked once: %s', async (_name, by, name) => {
  await learnKeys();
  const token = await sign(by, 'burst');
  const outcomes = await verifyAll(Array.from({ length: 2 * MAX_VERIFYING }, () => token));
  expect(new Set(outcomes)).toEqual(new Set([name]));
  expect(await verify(token)).toBe(name);
});

const UNUSABLE = { ...stranger.publicJwk, x: 'AA' };
const listed = (...keys: SigningKey[]) => keys.map(({ publicJwk }) => publicJwk);
it.each<[string, object[], string | undefined]>([
  ['the same key twice', listed(key, key), 'one'],
  ['two keys', listed(stranger, key), 'one'],
  ['one that cannot be used', [UNUSABLE, ...listed(stranger, key)], 'one'],
  ['none that has signed it', listed(stranger, stranger), undefined],
])('several keys of one id are each tried: %s', async (_name, keys, name) => {
  server.responses = { '/jwks': { body: { keys } } };
  expect(await verify(await sign(key, 'one'))).toBe(name);
});

it('a token whose key is withdrawn during its check is checked again', async () => {
  await learnKeys();
  const old = await sign(key, 'old');
  const next = await SigningKey.create('two');
  const successor = await sign(next, 'next', 'two');
  server.responses = { '/jwks': { body: { keys: [next.publicJwk] } } };
  // They keep the threads busy that check signatures, for longer than the provider needs.
  const busy = Array.from({ length: 4 }, () => pbkdf2Async('', '', 1_000_000, 32, 'sha256'));
  const checked = verify(old);
  verifier.onApplicationBootstrap();
  expect(await checked).toBe('old');
  while ((await verify(successor)) !== 'next');
  expect(await verify(old)).toBeUndefined();
  await Promise.all(busy);
});
