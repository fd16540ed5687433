import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createContext } from '../src/app.js';
import { TokensService } from '../src/auth/tokens.service.js';
import { readConfig } from '../src/config/read-config.js';
import { Service } from './support/service.js';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

/** Seconds within which a revoked token stops to work on every process (README, "Tokens"). */
const DEADLINE = 5;

it('a token revoked by another process stops working, however much it is used', async () => {
  const post = () => service.client.post('{"id":1,"name":"oak"}');
  expect((await post()).status).toBe(200);
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
  const { status, body } = await post();
  expect({ status, body }).toEqual({
    status: 401,
    body: { error: 2001, message: 'the token does not hold' },
  });
});
