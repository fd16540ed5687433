/** @engine sqlite */
import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { errors } from 'jose';
import {
  IdentityProvider,
  SigningKey,
  type KeyResponse,
} from '../../../test/support/identity-provider.js';
import { ApiException } from '../../errors/error-codes.js';
import { MAX_WAITING } from '../wait-limit.js';
import { ProviderKeys } from './provider-keys.js';

const one = await SigningKey.create('one');
const two = await SigningKey.create('two');

let server: IdentityProvider;
let keys: ProviderKeys | undefined;
let changes: number;
let lines: string[];
beforeEach(async () => {
  lines = [];
  changes = 0;
  const add = (line: string): void => void lines.push(line);
  Logger.overrideLogger({ log: add, warn: add, error: add });
  server = await IdentityProvider.start([]);
});
afterEach(async () => {
  jest.restoreAllMocks();
  keys?.stop();
  await server.stop();
});

/** Sets the keys that the provider publishes. */
function show(...shown: SigningKey[]): void {
  server.responses = { '/jwks': { body: { keys: shown.map(({ publicJwk }) => publicJwk) } } };
}

const NEVER = { refresh: 3_600_000, cooldown: 3_600_000, timeout: 3_600_000 };

/** Keys of a provider that shows the first one. @param times those left out never elapse */
function start(times: Partial<typeof NEVER> = {}): ProviderKeys {
  show(one);
  const source = { authJwksUrl: `${server.url}/jwks` };
  return (keys = new ProviderKeys(source, () => changes++, { ...NEVER, ...times }));
}

/** Looks for a key, and returns its id, or the code of the error. */
async function find(kid: string): Promise<string> {
  const header = { alg: 'ES256', kid };
  try {
    await keys?.ensureKey(header);
    await keys?.getKey(header, { payload: '', signature: '' });
    return kid;
  } catch (error) {
    if (error instanceof ApiException) return error.message;
    return error instanceof errors.JOSEError ? error.code : String(error);
  }
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The different results of {@link find} for as many unknown keys. */
async function findUnknown(times: number): Promise<Set<string>> {
  return new Set(await Promise.all(Array.from({ length: times }, (_, i) => find(`x${i}`))));
}

const UNKNOWN = 'ERR_JWKS_NO_MATCHING_KEY';
const UNAVAILABLE = 'the identity provider is unavailable';

describe('the provider is asked', () => {
  it.each([
    ['once, whatever unknown keys come', 200, UNKNOWN, 'one'],
    ['once, whatever tokens come while it fails', 500, UNAVAILABLE, UNAVAILABLE],
  ])('%s', async (_name, status, unknown, known) => {
    start();
    server.responses = { '/jwks': { status, body: { keys: [one.publicJwk] } } };
    for (let time = 0; time < 3; time++) {
      expect(await findUnknown(100)).toEqual(new Set([unknown]));
    }
    expect(await find('one')).toBe(known);
    expect(server.asked).toHaveLength(1);
  });

  it('no longer once the service stops', async () => {
    start({ refresh: 1, cooldown: 1 }).start();
    await until(() => server.asked.length > 3);
    keys?.stop();
    // Waits for a request in flight.
    expect(await find('x')).toBe(UNKNOWN);
    const { length } = server.asked;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.asked).toHaveLength(length);
  });
});

it.each([
  ['no key is known', false, UNAVAILABLE],
  ['keys are known', true, UNKNOWN],
])(
  'during an outage of the provider many tokens share a request, while %s',
  async (_name, isKnown, outcome) => {
    start({ cooldown: 100, timeout: 200 });
    if (isKnown) expect(await find('one')).toBe('one');
    // The provider hangs.
    server.responses = {};
    const { length } = server.asked;
    await until(async () => {
      expect(await findUnknown(100)).toEqual(new Set([outcome]));
      return server.asked.length > length;
    });
    expect(server.asked).toHaveLength(length + 1);
    expect(lines).toEqual([`${unavailable('/jwks')} request timed out`]);
  },
);

/** The start of the line about a URL of the provider. */
const unavailable = (path: string) => `the identity provider is unavailable: ${server.url}${path}:`;

const REDIRECT = { status: 302, headers: { location: '/elsewhere' } };
const MALFORMED = 'JSON Web Key Set malformed';
const NO_JSON = 'Failed to parse the JSON Web Key Set HTTP response as JSON';
const FAILED = 'the status is 500, not 200';
const TOO_LARGE = 'the response is larger than 1 MiB';

it.each<[string, KeyResponse, string]>([
  ['no key set', { body: {} }, MALFORMED],
  ['an array', { body: [] }, MALFORMED],
  ['a key set with a member that is no key', { body: { keys: [1] } }, MALFORMED],
  ['a page', { body: '<html>' }, NO_JSON],
  ['too large', { body: `{"keys":[${' '.repeat(2 ** 20)}]}` }, TOO_LARGE],
  ['a redirect', REDIRECT, 'the status is 302, not 200'],
  ['an error', { status: 500, body: {} }, FAILED],
])('a key set that is %s is not used, and its URL is named', async (_what, response, problem) => {
  start();
  server.responses = { '/jwks': response, '/elsewhere': KEYS };
  expect(await find('one')).toBe(UNAVAILABLE);
  expect(lines).toEqual([`${unavailable('/jwks')} ${problem}`]);
  server.responses = { ...server.responses, [DISCOVERY]: discovery() };
  lines = [];
  expect(await findByDiscovery()).toBe(UNAVAILABLE);
  expect(lines).toEqual([`${unavailable('/jwks')} ${problem}`]);
  expect(server.asked).toEqual(['/jwks', DISCOVERY, '/jwks']);
});

it('a key set as large as a document may be is used', async () => {
  start();
  const body = JSON.stringify({ keys: [one.publicJwk] }).padEnd(2 ** 20);
  server.responses = { '/jwks': { body } };
  expect(await find('one')).toBe('one');
});

describe('known keys', () => {
  it('do not wait for unknown keys while the provider hangs', async () => {
    start({ cooldown: 0 });
    expect(await find('one')).toBe('one');
    server.responses = {};
    const unknown = findUnknown(MAX_WAITING);
    await until(() => server.asked.length > 1);
    expect(await find('one')).toBe('one');
    expect(await find('two')).toBe('overloaded');
    await server.stop();
    expect(await unknown).toEqual(new Set([UNKNOWN]));
    expect(lines).toEqual([expect.stringContaining(unavailable('/jwks'))]);
    server = await IdentityProvider.start([]);
  });

  it('stop working once the provider has removed them, without a token that asks', async () => {
    start({ refresh: 1 }).start();
    expect(await find('one')).toBe('one');
    await until(() => server.asked.length > 5);
    expect(changes).toBe(1);
    show(two);
    await until(() => changes === 2);
    expect(await find('one')).toBe(UNKNOWN);
  });
});

describe('after a time in which the process stood still', () => {
  /** Lets the time pass, by one of the clocks, after which a reload is overdue. */
  function pass(clock: { now: () => number } = performance): void {
    const now = clock.now.bind(clock);
    const ms = NEVER.refresh + 2 * NEVER.timeout;
    jest.spyOn(clock, 'now').mockImplementation(() => now() + ms);
  }

  it.each([
    ['a process that is stopped', performance],
    ['a machine that is suspended', Date],
  ])('a key that the provider has removed is not used: %s', async (_what, clock) => {
    start();
    expect(await find('one')).toBe('one');
    show(two);
    expect(await find('one')).toBe('one');
    pass(clock);
    expect(await Promise.all([find('one'), find('one')])).toEqual([UNKNOWN, UNKNOWN]);
    expect(server.asked).toHaveLength(2);
  });

  it('keys are used all the same once the provider was found unavailable', async () => {
    start();
    expect(await find('one')).toBe('one');
    server.responses = { '/jwks': { status: 500 } };
    pass();
    expect(await Promise.all([find('one'), find('one')])).toEqual(['one', 'one']);
    expect(await find('one')).toBe('one');
    expect(server.asked).toHaveLength(2);
    expect(lines).toEqual([`${unavailable('/jwks')} ${FAILED}`]);
  });

  it('the result of a reload that began before it is not enough', async () => {
    start({ cooldown: 0 });
    expect(await find('one')).toBe('one');
    let late: Promise<string> | undefined;
    server.responses = {
      get '/jwks'() {
        pass();
        late = find('one');
        show(two);
        return KEYS;
      },
    };
    expect(await find('x')).toBe(UNKNOWN);
    expect(await late).toBe(UNKNOWN);
    expect(server.asked).toHaveLength(3);
  });
});

it('an outage is logged once, and its end once', async () => {
  const own = start({ refresh: 1, cooldown: 1 });
  server.responses = { '/jwks': { status: 500 } };
  own.start();
  await until(() => server.asked.length > 3);
  show(one);
  await until(async () => (await find('one')) === 'one');
  await until(() => server.asked.length > 6);
  expect(lines).toEqual([
    `${unavailable('/jwks')} ${FAILED}`,
    expect.stringMatching(/^the identity provider is available again after \d+\.\d s$/),
  ]);
});

const DISCOVERY = '/.well-known/openid-configuration';
const KEYS: KeyResponse = { body: { keys: [one.publicJwk] } };

/** A discovery document that names the keys at `/jwks`, with some members replaced. */
function discovery(over: object = {}): KeyResponse {
  return { body: { issuer: server.url, jwks_uri: `${server.url}/jwks`, ...over } };
}

/** Looks for the key of a provider that is asked by discovery. */
function findByDiscovery(path = ''): Promise<string> {
  keys = new ProviderKeys({ authIssuer: `${server.url}${path}` }, () => changes++, NEVER);
  return find('one');
}

describe('the keys are found', () => {
  it.each([
    ['by discovery', '', DISCOVERY, '/jwks'],
    ['behind an issuer that ends in a slash', '/', DISCOVERY, '/jwks'],
    ['behind an issuer with a path', '/realms/plants', `/realms/plants${DISCOVERY}`, '/jwks'],
    ['behind an issuer with both', '/plants/', `/plants${DISCOVERY}`, '/jwks'],
    ['at an address with a query', '', DISCOVERY, '/jwks?p=plants'],
  ])('%s', async (_name, path, document, address) => {
    const jwks_uri = `${server.url}${address}`;
    const issuer = `${server.url}${path}`;
    server.responses = { [document]: discovery({ issuer, jwks_uri }), [address]: KEYS };
    expect(await findByDiscovery(path)).toBe('one');
    expect(server.asked).toEqual([document, address]);
  });
});

it('a new address is found, and the keys of the old one stay until it responds', async () => {
  server.responses = { [DISCOVERY]: discovery(), '/jwks': KEYS };
  const source = { authIssuer: server.url };
  keys = new ProviderKeys(source, () => changes++, { ...NEVER, cooldown: 0 });
  expect(await find('one')).toBe('one');
  const moved = discovery({ jwks_uri: `${server.url}/moved` });
  server.responses = { [DISCOVERY]: moved, '/moved': { status: 500 } };
  expect(await find('two')).toBe(UNKNOWN);
  expect(await find('one')).toBe('one');
  server.responses = { [DISCOVERY]: moved, '/moved': { body: { keys: [two.publicJwk] } } };
  expect(await find('two')).toBe('two');
  expect(await find('one')).toBe(UNKNOWN);
});

it('a long address of the keys is cut in the log', async () => {
  const jwks_uri = `${server.url}/${'x'.repeat(2 ** 16)}`;
  server.responses = { [DISCOVERY]: discovery({ jwks_uri }) };
  expect(await findByDiscovery()).toBe(UNAVAILABLE);
  expect(lines).toEqual([
    expect.stringMatching(/unavailable: http:\S{390,400}…: the status is 431, not 200$/),
  ]);
});

it.each<[string, () => KeyResponse, RegExp]>([
  ['is missing', () => ({ status: 404, body: {} }), /the status is 404, not 200$/],
  ['is too large', () => ({ body: ' '.repeat(2 ** 20 + 1) }), /the response is larger than 1 MiB$/],
  ['is elsewhere', () => REDIRECT, /the status is 302, not 200$/],
  ['is no JSON', () => ({ body: '<html>' }), /is not valid JSON$/],
  ['is null', () => ({ body: null }), /is that of another issuer, undefined$/],
  ['is of a long issuer', () => discovery({ issuer: 'x'.repeat(2 ** 16) }), /, x{300,400}…$/],
  ['is of an issuer with a slash', () => discovery({ issuer: `${server.url}/` }), /\/$/],
  ['names no keys', () => discovery({ jwks_uri: undefined }), /jwks_uri$/],
  ['names keys without TLS', () => discovery({ jwks_uri: 'http://id.example/' }), /no https URL/],
  ['names keys by a path', () => discovery({ jwks_uri: 'jwks' }), /no https URL/],
  ['names keys in itself', () => discovery({ jwks_uri: 'data:,{"keys":[]}' }), /no https URL/],
])('no keys are found if the discovery document %s', async (_name, response, problem) => {
  server.responses = { [DISCOVERY]: response(), '/jwks': KEYS, '/elsewhere': discovery() };
  expect(await findByDiscovery()).toBe(UNAVAILABLE);
  expect(lines).toEqual([expect.stringMatching(problem)]);
  expect(lines[0]).toContain(`${unavailable(DISCOVERY)} `);
  expect(server.asked).toEqual([DISCOVERY]);
});
