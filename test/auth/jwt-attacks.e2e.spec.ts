/** @engine sqlite */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ATTACKS, type NamedToken } from './jwt-attacks.js';
import { BearerStrategy } from '../../src/auth/bearer.strategy.js';
import { Forger, seconds } from '../support/forger.js';
import { AUDIENCE, IdentityProvider, SigningKey } from '../support/identity-provider.js';
import { Service } from '../support/service.js';
import { INVALID_TOKEN, LACKS_SCOPE } from './refusals.js';

let provider: IdentityProvider;
let service: Service;
/** The attacker's server. It publishes the attacker's key. */
let trap: IdentityProvider;
let forger: Forger;
beforeAll(async () => {
  provider = await IdentityProvider.start();
  service = await Service.start(provider.env);
  const stranger = await SigningKey.create('ES256');
  trap = await IdentityProvider.start([]);
  trap.responses = { '/jwks': { body: { keys: [stranger.publicJwk] } } };
  forger = new Forger(provider, stranger, `${trap.url}/jwks`);
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
  await trap.stop();
});

function ask(token: string) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return service.client.post('{"id":7,"name":"oak"}', headers);
}

/** What the log says of an invalid token. None of it is a part of the token. */
const REASON =
  /^(malformed: [\w ]+|ERR_\w+(, [a-z]+( is (in )?\d+ s( ago)?)?)?|its header or its key cannot be used)$/;

describe.each(Object.entries(ATTACKS))('%s', (_part, tokens) => {
  it.each(tokens)('%s: 401', async (_name, token) => {
    const made = token(forger);
    expect(await ask(made)).toMatchObject(INVALID_TOKEN);
    expect(await service.store.count()).toBe(0);
    const verify = async () => service.app.get(BearerStrategy).validate(made);
    const reason = expect.stringMatching(REASON);
    await expect(verify()).rejects.toMatchObject({ details: { reason } });
  });
});

it('requests no address found in a token, and only the keys from the provider', () => {
  expect(trap.asked).toEqual([]);
  const paths = new Set(provider.asked);
  expect(paths).toEqual(new Set(['/.well-known/openid-configuration', '/jwks']));
});

it('refuses a token with any one character changed', async () => {
  const token = forger.signed();
  const changes = fc.record({
    at: fc.nat(token.length - 1),
    to: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  });
  await fc.assert(
    fc.asyncProperty(changes, async ({ at, to }) => {
      fc.pre(token[at] !== to);
      const changed = token.slice(0, at) + to + token.slice(at + 1);
      expect(await ask(changed)).toMatchObject(INVALID_TOKEN);
    }),
    { numRuns: 500 },
  );
});

describe('valid tokens are accepted', () => {
  it.each<NamedToken>([
    ['an ordinary token', (f) => f.signed()],
    ['expired within the allowed clock skew', (f) => f.signed({ exp: seconds(-20) })],
    ['not yet valid, within the allowed clock skew', (f) => f.signed({ nbf: seconds(20) })],
    ['one of several audiences', (f) => f.signed({ aud: ['https://other.example', AUDIENCE] })],
    ['without a key id, when the provider has one key', (f) => f.signed({}, { kid: undefined })],
    ['of the type JWT', (f) => f.signed({}, { typ: 'JWT' })],
    ['of the type application/at+jwt', (f) => f.signed({}, { typ: 'application/at+JWT' })],
    ['of no type', (f) => f.signed({}, { typ: undefined })],
    ['the scope in the claim scp', (f) => f.signed({ scope: undefined, scp: 'x plants:create' })],
    ['the scope in a list', (f) => f.signed({ scope: undefined, scp: ['x', 'plants:create'] })],
    ['a subject of 255 characters', (f) => f.signed({ sub: 'x'.repeat(255) })],
    ['an address in jku, which is not requested', (f) => f.signed({}, { jku: f.trapUrl })],
  ])('%s', async (_name, token) => {
    expect((await ask(token(forger))).status).toBe(200);
    expect(trap.asked).toEqual([]);
  });

  it.each<[string, object]>([
    ['no scope', { scope: undefined }],
    ['an empty scope', { scope: '' }],
    ['another scope', { scope: 'plants:water' }],
    ['scopes that start like it', { scope: 'plants:created plants:create:all' }],
    ['the scope in another case', { scope: 'Plants:Create' }],
    ['an object as scope', { scope: { 'plants:create': true } }],
    ['a list separated by commas', { scope: 'plants:create,x' }],
  ])('refuses a token with %s: 403', async (_name, over) => {
    const token = forger.signed(over);
    for (let time = 0; time < 2; time++) expect(await ask(token)).toMatchObject(LACKS_SCOPE);
  });
});
