import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { createStore } from '../../../test/support/engine.js';
import type { TemporaryStore } from '../../../test/support/temporary-store.js';
import { readConfig } from '../../config/environment.js';
import { openStore } from '../../database/store.js';
import { hashToken, isActive, hasSecretForm, Token } from './token.entity.js';
import { TokenError, TokensService } from './tokens.service.js';

const HOUR = 3_600_000;

let temporary: TemporaryStore;
let store: DataSource;
let tokens: TokensService;
beforeAll(async () => {
  temporary = await createStore();
  store = await openStore(readConfig({ DATABASE_URL: temporary.url }), [Token]);
  tokens = new TokensService(store.getRepository(Token));
});
beforeEach(() => store.getRepository(Token).clear());
afterAll(async () => {
  await store.destroy();
  await temporary.remove();
});

/** The newest token of a name. */
async function find(name: string): Promise<Token | undefined> {
  return (await tokens.list()).findLast((token) => token.name === name);
}

describe('TokensService', () => {
  it('creates a first token in an empty store only', async () => {
    const secret = await tokens.createFirst();
    expect(hasSecretForm(secret ?? '')).toBe(true);
    expect(await tokens.createFirst()).toBeUndefined();
    await tokens.revoke('first');
    // All tokens are revoked, but the store is not new.
    expect(await tokens.createFirst()).toBeUndefined();
  });

  it('creates no first token in a store with plants, which may be an interrupted restore', async () => {
    await temporary.execute("INSERT INTO plants (id, name) VALUES (1, 'oak')");
    expect(await tokens.createFirst()).toBeUndefined();
    await temporary.execute('DELETE FROM plants');
    expect(await tokens.createFirst()).toBeDefined();
  });

  it('stores the hash, the name and the times', async () => {
    const from = Date.now();
    const secret = await tokens.create('ci', 1000);
    const token = await find('ci');
    expect(token).toMatchObject({ hash: hashToken(secret), revokedAt: null, lastUsedAt: null });
    const createdAt = token?.createdAt.getTime() ?? 0;
    expect(createdAt).toBeGreaterThanOrEqual(from);
    expect(token?.expiresAt).toEqual(new Date(createdAt + 1000));
    expect(JSON.stringify(await tokens.list())).not.toContain(secret);
  });

  it('uses a name again only once its token is no longer active', async () => {
    await tokens.create('again');
    await expect(tokens.create('again')).rejects.toThrow('a token named again exists');
    await tokens.revoke('again');
    await expect(tokens.create('again')).resolves.toMatch(/^plant_/);
    await tokens.create('short', -1);
    await expect(tokens.create('short')).resolves.toMatch(/^plant_/);
  });

  it('revokes by id and by name, once', async () => {
    await tokens.create('by-id');
    const id = (await find('by-id'))?.id;
    await tokens.revoke(`${id}`);
    expect((await find('by-id'))?.revokedAt).toBeInstanceOf(Date);
    await expect(tokens.revoke(`${id}`)).rejects.toThrow(TokenError);
    await expect(tokens.revoke('by-id')).rejects.toThrow(TokenError);
    await expect(tokens.revoke('nobody')).rejects.toThrow('no active token named nobody');
    await expect(tokens.revoke('999999')).rejects.toThrow(TokenError);
  });
});

const lifetimes = async () =>
  (await tokens.list()).map(({ createdAt, expiresAt }) =>
    expiresAt === null ? null : expiresAt.getTime() - createdAt.getTime(),
  );

describe('a rotation', () => {
  it('creates a new token of the name, and ends the old one after the overlap', async () => {
    await tokens.create('other');
    await tokens.create('ci');
    const secret = await tokens.rotate('ci', HOUR);
    const [other, old, successor] = await tokens.list();
    expect(other?.expiresAt).toBeNull();
    expect(successor).toMatchObject({ name: 'ci', hash: hashToken(secret), expiresAt: null });
    expect(old?.expiresAt?.getTime()).toBe((successor?.createdAt.getTime() ?? 0) + HOUR);
    expect(old && isActive(old)).toBe(true);
  });

  it.each<[string, number | undefined, number | undefined, number | null]>([
    ['as the old one', 90 * HOUR, undefined, 90 * HOUR],
    ['forever, as the old one', undefined, undefined, null],
    ['as it is told', 90 * HOUR, 5 * HOUR, 5 * HOUR],
    ['as it is told, after one that never expires', undefined, 5 * HOUR, 5 * HOUR],
  ])('makes the new one last %s', async (_what, before, told, after) => {
    await tokens.create('ci', before);
    await tokens.rotate('ci', HOUR, told);
    expect((await lifetimes())[1]).toBe(after);
    // The lifetime is that of the newest, not of the one that a rotation has ended.
    await tokens.rotate('ci', 0);
    expect((await lifetimes())[2]).toBe(after);
  });

  it('never makes the old one last longer than it would have', async () => {
    await tokens.create('ci', HOUR);
    await tokens.rotate('ci', 24 * HOUR);
    expect((await lifetimes())[0]).toBe(HOUR);
  });

  it('ends the old one at once without an overlap, and all active ones of the name', async () => {
    await tokens.create('ci');
    await tokens.rotate('ci', HOUR);
    await tokens.rotate('ci', 0);
    expect((await tokens.list()).map((token) => isActive(token))).toEqual([false, false, true]);
  });

  it('is refused if no token of the name is active, and creates none', async () => {
    await tokens.create('expired', -1);
    await tokens.create('revoked');
    await tokens.revoke('revoked');
    for (const name of ['expired', 'revoked', 'nobody', '1', '']) {
      await expect(tokens.rotate(name, HOUR)).rejects.toThrow(TokenError);
    }
    expect(await tokens.list()).toHaveLength(2);
  });

  it('changes nothing if the new token cannot be stored', async () => {
    await tokens.create('ci');
    const before = await tokens.list();
    await expect(tokens.rotate('ci', HOUR, Number.NaN)).rejects.toThrow();
    expect(await tokens.list()).toEqual(before);
  });

  it('ends with one revocation of the name, which revokes all its tokens', async () => {
    await tokens.create('ci');
    await tokens.rotate('ci', HOUR);
    await tokens.revoke('ci');
    expect((await tokens.list()).filter((token) => isActive(token))).toEqual([]);
  });
});

describe('a revocation by age', () => {
  it('revokes the active tokens created before, and returns them', async () => {
    for (const name of ['b', 'a', 'gone']) await tokens.create(name);
    await tokens.create('late', HOUR);
    await tokens.create('expired', -1);
    await tokens.revoke('gone');
    const [, , gone] = await tokens.list();
    const at = (name: string, ms: number) =>
      store.getRepository(Token).update({ name }, { createdAt: new Date(ms) });
    await at('b', 999);
    await at('a', 1_000);
    const revoke = async (before: number) => {
      const revoked = await tokens.revokeCreatedBefore(new Date(before));
      return revoked.map(({ name }) => name);
    };
    expect(await revoke(999)).toEqual([]);
    expect(await revoke(1_000)).toEqual(['b']);
    expect(await revoke(Date.now() + HOUR)).toEqual(['a', 'late']);
    const [, , goneStill, , expired] = await tokens.list();
    expect(goneStill).toEqual(gone);
    expect(expired?.revokedAt).toBeNull();
  });
});

describe('isActive', () => {
  const at = (ms: number) => new Date(ms);
  it.each([
    ['forever', { expiresAt: null, revokedAt: null }, true],
    ['until its end', { expiresAt: at(1001), revokedAt: null }, true],
    ['not at its end', { expiresAt: at(1000), revokedAt: null }, false],
    ['not after its end', { expiresAt: at(999), revokedAt: null }, false],
    ['not once it is revoked', { expiresAt: null, revokedAt: at(0) }, false],
  ])('a token is active %s', (_name, times, expected) => {
    expect(isActive(Object.assign(new Token(), times), 1000)).toBe(expected);
  });
});
