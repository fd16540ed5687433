/** @engine postgres */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { Token } from '../../src/auth/token.entity.js';
import { TokensService } from '../../src/auth/tokens.service.js';
import { readConfig } from '../../src/config/environment.js';
import { openStore } from '../../src/database/open-store.js';
import { createStore } from '../support/engine.js';
import type { TemporaryStore } from '../support/temporary-store.js';

let temporary: TemporaryStore;
let store: DataSource;
let tokens: TokensService;
beforeAll(async () => {
  temporary = await createStore();
  store = await openStore(readConfig({ DATABASE_URL: temporary.url }), [Token]);
  tokens = new TokensService(store.getRepository(Token));
});
afterAll(async () => {
  await store.destroy();
  await temporary.remove();
});

// On SQLite only processes write concurrently: see test/cli/cli.e2e.
it('concurrent creates of one name on separate connections: one succeeds', async () => {
  const created = await Promise.allSettled(['a', 'a', 'a', 'a'].map((name) => tokens.create(name)));
  expect(created.map(({ status }) => status).sort()).toEqual([
    'fulfilled',
    'rejected',
    'rejected',
    'rejected',
  ]);
});

it('a revoke during a rotation revokes the new token too', async () => {
  for (let i = 0; i < 10; i++) {
    const name = `b${i}`;
    await tokens.create(name);
    const [, revoked] = await Promise.allSettled([
      tokens.rotate(name, 3_600_000),
      tokens.revoke(name),
    ]);
    expect(revoked.status).toBe('fulfilled');
    const last = (await tokens.list()).findLast((token) => token.name === name);
    // Either both tokens are revoked, or the revoke came first and the rotation found no token.
    expect(last?.revokedAt).not.toBeNull();
  }
});
