import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createContext } from '../src/app.js';
import { TokensService } from '../src/auth/tokens.service.js';
import { readConfig } from '../src/config/read-config.js';
import { Service } from './support/service.js';

let service: Service;
beforeEach(async () => {
  service = await Service.start();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await service.stop();
});

/** Seconds within which a revoked token stops to work on every process (README, "Tokens"). */
const DEADLINE = 5;

const post = () => service.client.post('{"id":1,"name":"oak"}');

/** Revokes the token of the tests as another process does, and uses it until the deadline. */
async function revokeAndWait(): Promise<void> {
  const operator = await createContext(
    readConfig({ DATABASE_URL: service.store.url, LOG_LEVEL: 'fatal' }),
  );
  await operator.get(TokensService).revoke('test');
  await operator.close();
  // Uses of the token must not make the service believe in it for longer.
  for (let quarter = 0; quarter < DEADLINE * 4; quarter++) {
    await post();
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

const REVOKED = { status: 401, body: { error: 2001, message: 'invalid or expired token' } };

it('a token revoked by another process stops working, however much it is used', async () => {
  expect((await post()).status).toBe(200);
  await revokeAndWait();
  expect(await post()).toMatchObject(REVOKED);
});

it('it does so even where the wall clock is set back meanwhile', async () => {
  const clock = Date.now.bind(Date);
  let steps = 0;
  // An hour back each time that anyone looks at it.
  jest.spyOn(Date, 'now').mockImplementation(() => clock() - 3_600_000 * steps++);
  expect((await post()).status).toBe(200);
  await revokeAndWait();
  expect(await post()).toMatchObject(REVOKED);
});

it('a token that has expired stays so where the wall clock is set back', async () => {
  const secret = await service.app.get(TokensService).create('brief', 1_500);
  const headers = { ...service.client.headers, authorization: `Bearer ${secret}` };
  const ask = () => service.client.post('{"id":1,"name":"oak"}', headers);
  expect((await ask()).status).toBe(200);
  while ((await ask()).status === 200) await new Promise((resolve) => setTimeout(resolve, 100));
  const clock = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => clock() - 3_600_000);
  for (let quarter = 0; quarter < DEADLINE * 4; quarter++) {
    expect(await ask()).toMatchObject(REVOKED);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
});
