import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { createStore } from '../../../test/support/engine.js';
import type { TemporaryStore } from '../../../test/support/temporary-store.js';
import { readConfig } from '../../config/environment.js';
import { StoreInspection } from '../../database/inspection.js';
import { openStore, type Store } from '../../database/store.js';
import { ApiException, ERRORS } from '../../errors/error-codes.js';
import { LastUsed } from './last-used.js';
import { Token } from './token.entity.js';
import { createSecret } from './token-secret.js';
import { TokenVerifier } from './token-verifier.js';
import { TokensService } from './tokens.service.js';
import { MAX_WAITING } from '../wait-limit.js';

let temporary: TemporaryStore;
let store: Store;
let lastUsed: LastUsed;
let verifier: TokenVerifier;
let secret: string;
let inspection: StoreInspection;
beforeEach(async () => {
  temporary = await createStore();
  const config = readConfig({ DATABASE_URL: temporary.url });
  store = await openStore(config, [Token]);
  const tokens = store.getRepository(Token);
  inspection = new StoreInspection(config, store.writer);
  inspection.onModuleInit();
  lastUsed = new LastUsed(store.writer);
  verifier = new TokenVerifier(tokens, lastUsed, inspection, store.writer);
  ({ secret } = await new TokensService(tokens).create('test'));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await lastUsed.onApplicationShutdown();
  await inspection.onApplicationShutdown();
  await store.destroy();
  await temporary.remove();
});

/** Lets the time pass after which a token must be looked up again. */
function elapse(): void {
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + 4_000);
}

/** Verifies tokens at once. Returns the name of each principal, or what the log says of the error. */
function verifyAll(secrets: readonly string[]): Promise<unknown[]> {
  const verify = async (one: string) => (await verifier.verify(one)).name;
  const explain = (error: unknown) => (error as ApiException).details?.reason ?? error;
  return Promise.all(secrets.map((one) => verify(one).catch(explain)));
}

it.each<[string, (count: number) => string[]]>([
  ['many', (count) => Array.from({ length: count }, createSecret)],
  ['the same one', (count) => Array<string>(count).fill(createSecret())],
])(
  'requests beyond the limit are refused while others wait for unknown tokens; a known one is served: %s',
  async (_name, createSecrets) => {
    expect(await verifyAll([secret])).toEqual(['test']);
    elapse();
    const outcomes = await verifyAll([...createSecrets(MAX_WAITING + 76), secret]);
    const refused = Array.from({ length: 76 }, () => new ApiException(ERRORS.OVERLOADED));
    expect(outcomes.slice(MAX_WAITING)).toEqual([...refused, 'test']);
    const found = new Set(outcomes.slice(0, MAX_WAITING));
    expect(found).toEqual(new Set(['unknown: not in the database']));
    expect(await verifyAll([createSecret()])).toEqual(['unknown: not in the database']);
  },
);

it('each of the tokens that one query looks up is found', async () => {
  const tokens = new TokensService(store.getRepository(Token));
  const { secret: second } = await tokens.create('second');
  const { secret: third } = await tokens.create('third');
  const queries = jest.spyOn(store.getRepository(Token), 'findBy');
  const outcomes = await verifyAll([secret, second, createSecret(), third]);
  expect(outcomes).toEqual(['test', 'second', 'unknown: not in the database', 'third']);
  expect(queries).toHaveBeenCalledTimes(1);
});

it('a malformed token that may be of an identity provider is told from a mistyped one', async () => {
  const malformed = 'malformed: not plant_ and 38 letters and digits with a right checksum';
  const advice = '; JSON Web Tokens need AUTH_ISSUER';
  expect(await verifyAll(['plant_x', 'lant_x', 'a.b.c'])).toEqual([
    ...[malformed, malformed],
    malformed + advice,
  ]);
});

it('a known token works without the database until it must be looked up again', async () => {
  expect(await verifyAll([secret])).toEqual(['test']);
  await temporary.execute('ALTER TABLE tokens RENAME hash TO digest');
  expect(await verifyAll([secret])).toEqual(['test']);
  elapse();
  expect(await verifyAll([secret])).toEqual([expect.any(Error)]);
  await temporary.execute('ALTER TABLE tokens RENAME digest TO hash');
  // The next inspection finds that the store is whole again.
  while ((await verifyAll([secret]))[0] !== 'test') await sleep(20);
});

it('a token is not accepted by the result of a query that took too long: it may have been revoked since', async () => {
  const now = performance.now.bind(performance);
  let readings = 0;
  // Like a service that stands still between each two readings.
  jest.spyOn(performance, 'now').mockImplementation(() => now() + 4_000 * readings++);
  const late = expect.objectContaining({ reason: 'the store took too long' });
  expect(await verifyAll([secret])).toEqual([late]);
  jest.restoreAllMocks();
  expect(await verifyAll([secret])).toEqual(['test']);
});
