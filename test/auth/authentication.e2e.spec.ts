/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { createSecret } from '../../src/auth/tokens/token-secret.js';
import { service, startService } from '../support/own.js';
import { INVALID_TOKEN, NO_TOKEN } from './refusals.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const PLANT = '{"id":7,"name":"oak"}';
startService();

/** Sends a request with these `Authorization` headers. */
function ask(authorization: string | string[] | undefined, path = '/plants', body = PLANT) {
  const headers = authorization === undefined ? JSON_TYPE : { authorization, ...JSON_TYPE };
  return service.client.send({ path, headers, body });
}

describe('no bearer token: 2000', () => {
  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['only the scheme', 'Bearer'],
    ['only the scheme and a space', 'Bearer '],
    ['another scheme', 'Basic dXNlcjpwYXNzd29yZA=='],
    ['a scheme that starts like it', 'BearerX plant_1'],
    ['a token without a scheme', 'plant_0123456789'],
    ['a tab instead of the space', 'Bearer\tplant_0123456789'],
  ])('%s', async (_name, authorization) => {
    expect(await ask(authorization)).toMatchObject(NO_TOKEN);
    expect(await service.store.count()).toBe(0);
  });

  it('ignores tokens in the query and in the body', async () => {
    const { token } = service;
    expect(await ask(undefined, `/plants?access_token=${token}`)).toMatchObject(NO_TOKEN);
    const body = JSON.stringify({ id: 7, name: 'oak', access_token: token });
    expect(await ask(undefined, '/plants', body)).toMatchObject(NO_TOKEN);
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const form = await service.client.send({ headers, body: `access_token=${token}` });
    expect(form).toMatchObject(NO_TOKEN);
    expect(await service.store.count()).toBe(0);
  });
});

describe('an invalid or expired token: 2001', () => {
  const bad: [name: string, authorization: () => string | Promise<string>][] = [
    ['malformed', () => 'Bearer x'],
    ['unknown', () => `Bearer ${createSecret()}`],
    ['mistyped', () => `Bearer ${service.token.slice(0, -1)}!`],
    ['in another case', () => `Bearer ${service.token.toUpperCase()}`],
    ['cut short', () => `Bearer ${service.token.slice(0, -1)}`],
    ['with more characters after it', () => `Bearer ${service.token}0`],
    ['a variable that was not replaced', () => 'Bearer $TOKEN'],
    ['after a second scheme', () => `Bearer Bearer ${service.token}`],
    ['with a second token after it', () => `Bearer ${service.token} ${service.token}`],
    ['with a comma after it', () => `Bearer ${service.token},`],
    ['in quotes', () => `Bearer "${service.token}"`],
    ['10,000 characters', () => `Bearer ${'x'.repeat(10_000)}`],
    ['a JSON Web Token, without an identity provider', () => 'Bearer eyJhbGciOiJFUzI1NiJ9.e30.AA'],
    ['characters outside ASCII', () => 'Bearer \u00e9\u00ff'],
    [
      'its own hash',
      async () => `Bearer ${String((await service.store.rows<{ hash: string }>(HASH))[0]?.hash)}`,
    ],
  ];
  it.each(bad)('%s', async (_name, authorization) => {
    expect(await ask(await authorization())).toMatchObject(INVALID_TOKEN);
    expect(await service.store.count()).toBe(0);
  });

  it('expired, used before or not', async () => {
    const tokens = service.tokens;
    const { secret: unused } = await tokens.create('unused', 1);
    const create = async (life: number) => (await tokens.create(`used-${life}`, life)).secret;
    let life = 300;
    let used = await create(life);
    // On a busy machine it may expire before its first use.
    while ((await ask(`Bearer ${used}`)).status !== 200) used = await create((life *= 2));
    await sleep(life + 1);
    expect(await ask(`Bearer ${unused}`)).toMatchObject(INVALID_TOKEN);
    expect(await ask(`Bearer ${used}`)).toMatchObject(INVALID_TOKEN);
  });

  it('revoked before its first use', async () => {
    const tokens = service.tokens;
    const { secret } = await tokens.create('lost');
    await tokens.revoke('lost');
    expect(await ask(`Bearer ${secret}`)).toMatchObject(INVALID_TOKEN);
  });
});

const HASH = 'SELECT hash FROM tokens';

describe('a valid token', () => {
  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer  ', 'Bearer     '])(
    'is accepted after "%s"',
    async (scheme) => {
      const response = await ask(`${scheme} ${service.token}`);
      expect(response).toMatchObject({ status: 200, body: { name: 'oak' } });
      expect(response.headers).not.toHaveProperty('www-authenticate');
    },
  );

  it('is stored as its SHA-256 only', async () => {
    const text = JSON.stringify(await service.store.rows('SELECT name, hash FROM tokens'));
    expect(text).toMatch(/"hash":"[0-9a-f]{64}"/);
    expect(text).not.toContain(service.token);
  });
});

it('refuses a request with two Authorization headers, even if one is valid', async () => {
  const both = ['Bearer x', `Bearer ${service.token}`];
  const refusal = { status: 400, body: { error: 3002 } };
  expect(await ask(both)).toMatchObject(refusal);
  expect(await ask(both.reverse())).toMatchObject(refusal);
});
