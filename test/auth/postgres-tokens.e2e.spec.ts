/** @engine postgres */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Service } from '../support/service.js';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

// On SQLite only processes write concurrently: see test/cli/cli.e2e.
it('concurrent creates of one name on separate connections: one succeeds', async () => {
  const { tokens } = service;
  const created = await Promise.allSettled(['a', 'a', 'a', 'a'].map((name) => tokens.create(name)));
  expect(created.map(({ status }) => status).sort()).toEqual([
    'fulfilled',
    'rejected',
    'rejected',
    'rejected',
  ]);
});

it('a revoke during a rotation revokes the new token too', async () => {
  const { tokens } = service;
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
