/** @engine sqlite */
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  IdentityProvider,
  SigningKey,
  type KeyResponse,
} from '../../../test/support/identity-provider.js';
import { fetchKeys } from './provider-keys.js';

const NO_LIMIT = new AbortController().signal;
const DISCOVERY = '/.well-known/openid-configuration';
const { publicJwk } = await SigningKey.create('one');
const KEYS: KeyResponse = { body: { keys: [publicJwk] } };

let server: IdentityProvider;
beforeEach(async () => {
  server = await IdentityProvider.start([]);
});
afterEach(() => server.stop());

/** A discovery document that names the keys at `/jwks`, with some members replaced. */
function discovery(over: object = {}): KeyResponse {
  return { body: { issuer: server.url, jwks_uri: `${server.url}/jwks`, ...over } };
}

describe('fetchKeys() finds the keys', () => {
  it.each([
    ['by discovery', '', DISCOVERY, '/jwks'],
    ['behind an issuer that ends in a slash', '/', DISCOVERY, '/jwks'],
    ['behind an issuer with a path', '/realms/plants', `/realms/plants${DISCOVERY}`, '/jwks'],
    ['behind an issuer with both', '/plants/', `/plants${DISCOVERY}`, '/jwks'],
    ['at an address with a query', '', DISCOVERY, '/jwks?p=plants'],
  ])('%s', async (_name, issuer, document, keys) => {
    const authIssuer = `${server.url}${issuer}`;
    const jwks_uri = `${server.url}${keys}`;
    server.responses = { [document]: discovery({ issuer: authIssuer, jwks_uri }), [keys]: KEYS };
    expect(await fetchKeys({ authIssuer }, NO_LIMIT)).toEqual(KEYS.body);
    expect(server.asked).toEqual([document, keys]);
  });

  it('even if the key set is empty', async () => {
    server.responses = { [DISCOVERY]: discovery(), '/jwks': { body: { keys: [] } } };
    expect(await fetchKeys({ authIssuer: server.url }, NO_LIMIT)).toEqual({ keys: [] });
  });
});

const BIG = 'x'.repeat(2 ** 20);
const REDIRECT = { status: 302, headers: { location: '/elsewhere' } };

it.each<[string, () => KeyResponse, RegExp]>([
  ['is missing', () => ({ status: 404, body: {} }), /responded with 404$/],
  ['is elsewhere', () => REDIRECT, /responded with 302$/],
  ['is no JSON', () => ({ body: '<html>' }), /is not valid JSON$/],
  ['is too large', () => discovery({ BIG }), /responded with more than \d+ bytes$/],
  ['is null', () => ({ body: null }), /is that of another issuer, undefined$/],
  ['is a list', () => ({ body: [] }), /another issuer, undefined$/],
  ['is of an issuer with a slash', () => discovery({ issuer: `${server.url}/` }), /\/$/],
  ['names no keys', () => discovery({ jwks_uri: undefined }), /jwks_uri$/],
  ['names keys without TLS', () => discovery({ jwks_uri: 'http://id.example/' }), /no https URL/],
  ['names keys by a path', () => discovery({ jwks_uri: 'jwks' }), /no https URL/],
  ['names keys in a file', () => discovery({ jwks_uri: 'file:///jwks' }), /no https URL/],
  ['names keys in itself', () => discovery({ jwks_uri: 'data:,{"keys":[]}' }), /no https URL/],
])('fetchKeys() rejects if the discovery document %s', async (_name, response, problem) => {
  server.responses = { [DISCOVERY]: response(), '/jwks': KEYS, '/elsewhere': discovery() };
  await expect(fetchKeys({ authIssuer: server.url }, NO_LIMIT)).rejects.toThrow(problem);
  expect(server.asked).toEqual([DISCOVERY]);
});

it.each<[string, KeyResponse, RegExp]>([
  ['is missing', { status: 500, body: {} }, /responded with 500$/],
  ['is elsewhere', REDIRECT, /responded with 302$/],
  ['is no JSON', { body: '' }, /end of JSON input$/],
  ['is too large', { body: { keys: [], BIG } }, /responded with more than/],
  [
    'is too large once it is unpacked',
    {
      body: gzipSync(JSON.stringify({ keys: [], BIG })),
      headers: { 'content-encoding': 'gzip' },
    },
    /responded with more than/,
  ],
])('fetchKeys() rejects if the key set %s', async (_name, response, problem) => {
  server.responses = { [DISCOVERY]: discovery(), '/jwks': response, '/elsewhere': KEYS };
  await expect(fetchKeys({ authIssuer: server.url }, NO_LIMIT)).rejects.toThrow(problem);
  expect(server.asked).toEqual([DISCOVERY, '/jwks']);
});
