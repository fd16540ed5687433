/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { getRepositoryToken } from '@nestjs/typeorm';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Repository } from 'typeorm';
import { Service } from '../../../test/support/service.js';
import { ApiException, ERRORS } from '../../errors/error-codes.js';
import { createSecret, hashToken, Token } from './token.entity.js';
import { MAX_CACHED_TOKENS, MAX_WAITING_TOKENS, TokenVerifier } from './token-verifier.js';

/** Milliseconds after which a token must be looked up again. */
const STALE = 4_100;

let service: Service;
let verifier: TokenVerifier;
beforeEach(async () => {
  service = await Service.start();
  verifier = service.app.get(TokenVerifier);
});
afterEach(() => service.stop());

const verify = async (secret: string) => verifier.verify(secret);

/** Verifies tokens at once. Returns the name of each token's holder, or what the log says of the error. */
function verifyAll(secrets: readonly string[]): Promise<unknown[]> {
  const name = (secret: string) =>
    verify(secret).then(
      ({ name }) => name,
      (error: unknown) => (error as ApiException).details?.reason ?? error,
    );
  return Promise.all(secrets.map(name));
}

it('unknown tokens beyond the limit are refused, and a known one does not wait behind them', async () => {
  expect(await verifyAll([service.token])).toEqual(['test']);
  await sleep(STALE);
  const unknown = Array.from({ length: MAX_WAITING_TOKENS + 76 }, createSecret);
  const outcomes = await verifyAll([...unknown, service.token]);
  const refused = Array.from({ length: 76 }, () => new ApiException(ERRORS.OVERLOADED));
  expect(outcomes.slice(MAX_WAITING_TOKENS)).toEqual([...refused, 'test']);
  const found = new Set(outcomes.slice(0, MAX_WAITING_TOKENS));
  expect(found).toEqual(new Set(['unknown: not in the database']));
});

it('a JSON Web Token that nobody expects is told from a token that is cut', async () => {
  expect(await verifyAll(['eyJhbGciOiJFUzI1NiJ9.e30.AA', 'plant_x'])).toEqual([
    'malformed: a JSON Web Token, but AUTH_ISSUER is not set',
    expect.stringMatching(/^malformed: not plant_ and 38 letters/),
  ]);
});

it('a known token is looked up again though another one takes its place in a full cache', async () => {
  const secrets = Array.from({ length: MAX_CACHED_TOKENS + 2 * MAX_WAITING_TOKENS }, createSecret);
  const tokens = service.app.get<Repository<Token>>(getRepositoryToken(Token));
  for (let from = 0; from < secrets.length; from += MAX_WAITING_TOKENS) {
    const some = secrets.slice(from, from + MAX_WAITING_TOKENS);
    const createdAt = new Date();
    await tokens.insert(some.map((one) => ({ name: 'many', hash: hashToken(one), createdAt })));
    expect(new Set(await verifyAll(some))).toEqual(new Set(['many']));
  }
  await sleep(STALE);
  // The first is the one that was not used for the longest time.
  const [first = ''] = secrets;
  expect(await verifyAll([first, service.token])).toEqual(['many', 'test']);
});
