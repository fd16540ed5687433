import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { createStore } from '../../test/support/engine.js';
import type { TemporaryStore } from '../../test/support/temporary-store.js';
import { readConfig } from '../config/read-config.js';
import { openStore } from '../database/open-store.js';
import { createFirstToken } from './first-token.js';
import { hashOf, isSecret } from './secret.js';
import { holds, Token } from './token.entity.js';
import { TokenError, TokensService } from './tokens.service.js';

let temporary: TemporaryStore;
let store: DataSource;
let tokens: TokensService;
beforeAll(async () => {
  temporary = await createStore();
  store = await openStore(readConfig({ DATABASE_URL: temporary.url }));
  tokens = new TokensService(store.getRepository(Token));
});
afterAll(async () => {
  await store.destroy();
  await temporary.remove();
});

/** The newest token of a name. */
async function find(name: string): Promise<Token | undefined> {
  return (await tokens.list()).findLast((token) => token.name === name);
}

describe('TokensService', () => {
  it('makes a first token in an empty store, and in no other', async () => {
    const secret = await createFirstToken(tokens);
    expect(isSecret(secret ?? '')).toBe(true);
    expect(await createFirstToken(tokens)).toBeUndefined();
    await tokens.revoke('first');
    // A store whose tokens are all revoked is no first start.
    expect(await createFirstToken(tokens)).toBeUndefined();
  });

  it('keeps the hash, the name and the times', async () => {
    const from = Date.now();
    const secret = await tokens.create('ci', 1000);
    const token = await find('ci');
    expect(token).toMatchObject({ hash: hashOf(secret), revokedAt: null, lastUsedAt: null });
    const createdAt = token?.createdAt.getTime() ?? 0;
    expect(createdAt).toBeGreaterThanOrEqual(from);
    expect(token?.expiresAt).toEqual(new Date(createdAt + 1000));
    expect(JSON.stringify(await tokens.list())).not.toContain(secret);
  });

  it.each(['', '1ci', '-x', 'a b', 'é', 'a/b', 'a\n', `a${'b'.repeat(64)}`])(
    'refuses the name %j',
    (name) => expect(tokens.create(name)).rejects.toThrow(TokenError),
  );

  it.each(['a', 'a.b_c@d-e', `a${'b'.repeat(63)}`])('takes the name %j', async (name) => {
    await expect(tokens.create(name)).resolves.toMatch(/^plant_/);
  });

  it('gives a name again only once its token no longer holds', async () => {
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
    await expect(tokens.revoke('nobody')).rejects.toThrow('no token nobody');
    await expect(tokens.revoke('999999')).rejects.toThrow(TokenError);
  });
});

describe('holds', () => {
  const at = (ms: number) => new Date(ms);
  it.each([
    ['for ever', { expiresAt: null, revokedAt: null }, true],
    ['until its end', { expiresAt: at(1001), revokedAt: null }, true],
    ['not at its end', { expiresAt: at(1000), revokedAt: null }, false],
    ['not after its end', { expiresAt: at(999), revokedAt: null }, false],
    ['not once it is revoked', { expiresAt: null, revokedAt: at(0) }, false],
  ])('a token holds %s', (_name, times, expected) => {
    expect(holds(Object.assign(new Token(), times), 1000)).toBe(expected);
  });
});
