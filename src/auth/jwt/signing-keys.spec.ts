import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { errors } from 'jose';
import { KeyServer } from '../../../test/support/key-server.js';
import { SigningKey } from '../../../test/support/signing-key.js';
import { fetchKeys } from './provider-keys.js';
import { SigningKeys } from './signing-keys.js';

const NEVER = 3_600_000;
const one = await SigningKey.create('one');
const two = await SigningKey.create('two');

let server: KeyServer;
let keys: SigningKeys;
beforeEach(async () => {
  Logger.overrideLogger(false);
  server = await KeyServer.start();
  show(one);
});
afterEach(async () => {
  keys.stop();
  await server.stop();
});

/** What the provider shows from now on. */
function show(...shown: SigningKey[]): void {
  server.answers = { '/jwks': { body: { keys: shown.map(({ publicJwk }) => publicJwk) } } };
}

/** @param rhythm what a test does not name never comes */
function start(rhythm: { refresh?: number; pause?: number; retry?: number } = {}): void {
  const source = { authJwksUrl: `${server.url}/jwks` };
  keys = new SigningKeys(() => fetchKeys(source), {
    ...{ refresh: NEVER, pause: NEVER, retry: NEVER },
    ...rhythm,
  });
}

/** Looks for a key; its id, or the code of the error. */
async function find(kid: string): Promise<string> {
  try {
    await keys.find({ alg: 'ES256', kid }, { payload: '', signature: '' });
    return kid;
  } catch (error) {
    return error instanceof errors.JOSEError ? error.code : String(error);
  }
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** What {@link find} gives of `times` keys that nobody has. */
async function findStrange(times: number): Promise<Set<string>> {
  return new Set(await Promise.all(Array.from({ length: times }, (_, i) => find(`x${i}`))));
}

const UNKNOWN = 'ERR_JWKS_NO_MATCHING_KEY';
const AWAY = 'Error: the identity provider is unavailable';

describe('the provider is asked', () => {
  it('once, whatever unknown keys come', async () => {
    start();
    for (let time = 0; time < 3; time++) {
      expect(await findStrange(100)).toEqual(new Set([UNKNOWN]));
    }
    expect(await find('one')).toBe('one');
    expect(server.asked).toHaveLength(1);
  });

  it('once, whatever tokens come while it fails', async () => {
    start();
    server.answers = { '/jwks': { status: 500 } };
    for (let time = 0; time < 3; time++) {
      expect(await findStrange(100)).toEqual(new Set([AWAY]));
    }
    expect(server.asked).toHaveLength(1);
  });

  it('again soon while no key is known', async () => {
    start({ retry: 1 });
    server.answers = { '/jwks': { status: 500 } };
    expect(await find('one')).toBe(AWAY);
    show(one);
    await until(async () => (await find('one')) === 'one');
  });

  it('for a key that is not known, once the pause is over', async () => {
    start({ pause: 1 });
    expect(await find('two')).toBe(UNKNOWN);
    show(one, two);
    await until(async () => (await find('two')) === 'two');
  });

  it('no more once the service stops', async () => {
    start({ refresh: 1, pause: 1, retry: 1 });
    await keys.ask();
    await until(() => server.asked.length > 3);
    keys.stop();
    await keys.ask();
    const { length } = server.asked;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.asked).toHaveLength(length);
  });
});

it('nobody waits for a provider that was away the last time', async () => {
  start({ retry: 0 });
  server.answers = { '/jwks': { status: 500 } };
  expect(await find('one')).toBe(AWAY);
  server.answers = {};
  const { length } = server.asked;
  // The provider is asked, and does not answer.
  expect(await find('one')).toBe(AWAY);
  await until(() => server.asked.length > length);
});

describe('known keys', () => {
  it('go on working while the provider fails, and it is asked on', async () => {
    start({ refresh: 1, pause: 1 });
    expect(await find('one')).toBe('one');
    server.answers = { '/jwks': { status: 500 } };
    const { length } = server.asked;
    await until(() => server.asked.length > length + 5);
    expect(await find('one')).toBe('one');
    show(two);
    await until(async () => (await find('two')) === 'two');
  });

  it('are not held up by those that are unknown while the provider hangs', async () => {
    start({ pause: 0 });
    expect(await find('one')).toBe('one');
    server.answers = {};
    const strange = find('two');
    await until(() => server.asked.length > 1);
    expect(await find('one')).toBe('one');
    await server.stop();
    expect(await strange).toBe(UNKNOWN);
    server = await KeyServer.start();
  });

  it('stop when the provider has removed them, without any token that asks', async () => {
    start({ refresh: 1 });
    expect(await find('one')).toBe('one');
    const before = keys.current;
    show(two);
    await until(() => keys.current !== before);
    expect(await find('one')).toBe(UNKNOWN);
  });

  it('are the same object as long as they are the same keys', async () => {
    start({ refresh: 1 });
    expect(await find('one')).toBe('one');
    const before = keys.current;
    await until(() => server.asked.length > 5);
    expect(keys.current).toBe(before);
  });
});

it('the log tells once that the provider is away, and once that it is back', async () => {
  const lines: string[] = [];
  const add = (line: string): void => void lines.push(line);
  Logger.overrideLogger({ log: add, warn: add, error: add });
  start({ refresh: 1, pause: 1, retry: 1 });
  server.answers = { '/jwks': { status: 500 } };
  await keys.ask();
  await until(() => server.asked.length > 3);
  show(one);
  await until(async () => (await find('one')) === 'one');
  await until(() => server.asked.length > 6);
  expect(lines).toEqual([
    `the identity provider is unavailable: ${server.url}/jwks answered 500`,
    expect.stringMatching(/^the identity provider is available again after \d+\.\d s$/),
  ]);
});
