import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { createStore } from '../../test/support/engine.js';
import type { TemporaryStore } from '../../test/support/temporary-store.js';
import { readConfig } from '../config/read-config.js';
import { openStore } from '../database/open-store.js';
import { hashOf } from './secret.js';
import { holds, Token } from './token.entity.js';
import { TokenRotation } from './token-rotation.js';
import { TokenError, TokensService } from './tokens.service.js';

const HOUR = 3_600_000;

let temporary: TemporaryStore;
let store: DataSource;
let tokens: TokensService;
let rotation: TokenRotation;
beforeEach(async () => {
  temporary = await createStore();
  store = await openStore(readConfig({ DATABASE_URL: temporary.url }));
  tokens = new TokensService(store.getRepository(Token));
  rotation = new TokenRotation(store.getRepository(Token));
});
afterEach(async () => {
  await store.destroy();
  await temporary.remove();
});

const lifetimes = async () =>
  (await tokens.list()).map(({ createdAt, expiresAt }) =>
    expiresAt === null ? null : expiresAt.getTime() - createdAt.getTime(),
  );

describe('a rotation', () => {
  it('makes a new token of the name, and ends the old one after the overlap', async () => {
    await tokens.create('other');
    await tokens.create('ci');
    const secret = await rotation.rotate('ci', HOUR);
    const [other, old, successor] = await tokens.list();
    expect(other?.expiresAt).toBeNull();
    expect(successor).toMatchObject({ name: 'ci', hash: hashOf(secret), expiresAt: null });
    expect(old?.expiresAt?.getTime()).toBe((successor?.createdAt.getTime() ?? 0) + HOUR);
    expect(old && holds(old)).toBe(true);
  });

  it.each<[string, number | undefined, number | undefined, number | null]>([
    ['as the old one', 90 * HOUR, undefined, 90 * HOUR],
    ['for ever, as the old one', undefined, undefined, null],
    ['as it is told', 90 * HOUR, 5 * HOUR, 5 * HOUR],
    ['as it is told, after one for ever', undefined, 5 * HOUR, 5 * HOUR],
  ])('lets the new one hold %s', async (_what, before, told, after) => {
    await tokens.create('ci', before);
    await rotation.rotate('ci', HOUR, told);
    expect((await lifetimes())[1]).toBe(after);
    // The lifetime is that of the newest, not of the one that a rotation has ended.
    await rotation.rotate('ci', 0);
    expect((await lifetimes())[2]).toBe(after);
  });

  it('never lets the old one hold for longer than it would have', async () => {
    await tokens.create('ci', HOUR);
    await rotation.rotate('ci', 24 * HOUR);
    expect((await lifetimes())[0]).toBe(HOUR);
  });

  it('ends the old one at once without an overlap, and all that hold of the name', async () => {
    await tokens.create('ci');
    await rotation.rotate('ci', HOUR);
    await rotation.rotate('ci', 0);
    expect((await tokens.list()).map((token) => holds(token))).toEqual([false, false, true]);
  });

  it('is refused where no token of the name holds, and makes none', async () => {
    await tokens.create('expired', -1);
    await tokens.create('revoked');
    await tokens.revoke('revoked');
    for (const name of ['expired', 'revoked', 'nobody', '1', '']) {
      await expect(rotation.rotate(name, HOUR)).rejects.toThrow(TokenError);
    }
    expect(await tokens.list()).toHaveLength(2);
  });

  it('changes nothing where the new token cannot be stored', async () => {
    await tokens.create('ci');
    const before = await tokens.list();
    await expect(rotation.rotate('ci', HOUR, Number.NaN)).rejects.toThrow();
    expect(await tokens.list()).toEqual(before);
  });

  it('is undone with all others by one revocation of the name', async () => {
    await tokens.create('ci');
    await rotation.rotate('ci', HOUR);
    await tokens.revoke('ci');
    expect((await tokens.list()).filter((token) => holds(token))).toEqual([]);
  });
});

describe('a revocation of all that are old', () => {
  it('revokes those that hold and were created before, and names them', async () => {
    for (const name of ['b', 'a', 'gone']) await tokens.create(name);
    await tokens.create('late', HOUR);
    await tokens.create('expired', -1);
    await tokens.revoke('gone');
    const [, , gone] = await tokens.list();
    const at = (name: string, ms: number) =>
      store.getRepository(Token).update({ name }, { createdAt: new Date(ms) });
    await at('b', 999);
    await at('a', 1_000);
    expect(await tokens.revokeCreatedBefore(new Date(999))).toEqual([]);
    expect(await tokens.revokeCreatedBefore(new Date(1_000))).toEqual(['b']);
    expect(await tokens.revokeCreatedBefore(new Date(Date.now() + HOUR))).toEqual(['a', 'late']);
    const [, , goneStill, , expired] = await tokens.list();
    expect(goneStill).toEqual(gone);
    expect(expired?.revokedAt).toBeNull();
  });
});
