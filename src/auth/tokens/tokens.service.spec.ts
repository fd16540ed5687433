import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import type { DataSource } from 'typeorm';
import { createStore, ENGINE } from '../../../test/support/engine.js';
import type { TemporaryStore } from '../../../test/support/temporary-store.js';
import { readConfig } from '../../config/environment.js';
import { openStore } from '../../database/store.js';
import { isActive, Token } from './token.entity.js';
import { TokensService, type IssuedToken } from './tokens.service.js';

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

it('a change that the store refuses fails', async () => {
  await tokens.create('a');
  const [refuse, allow] =
    ENGINE === 'sqlite'
      ? [
          "CREATE TRIGGER refuse BEFORE UPDATE ON tokens BEGIN SELECT RAISE(ABORT, 'refused'); END",
          'DROP TRIGGER refuse',
        ]
      : [
          'ALTER TABLE tokens ADD CONSTRAINT refuse CHECK (revoked_at IS NULL)',
          'ALTER TABLE tokens DROP CONSTRAINT refuse',
        ];
  await store.query(refuse);
  await expect(tokens.revoke('a')).rejects.toThrow(/refuse/);
  await store.query(allow);
});

describe('TokensService', () => {
  it('creates a first token in a new store only', async () => {
    expect(await tokens.createFirst()).toBeDefined();
    await tokens.revoke('first');
    // All tokens are revoked, but the store is not new.
    expect(await tokens.createFirst()).toBeUndefined();
  });

  it('uses the name of an expired token again', async () => {
    await tokens.create('short', -1);
    expect((await tokens.create('short')).secret).toMatch(/^plant_/);
  });
});

/** Does what the command does around its print. */
async function rotate(name: string, overlap: number, lifetime?: number): Promise<void> {
  await tokens.endReplaced(await tokens.rotate(name, lifetime), overlap);
}

const lifetimes = async () =>
  (await tokens.list()).map(({ createdAt, expiresAt }) =>
    expiresAt === null ? null : expiresAt.getTime() - createdAt.getTime(),
  );

describe('a rotation', () => {
  it.each<[string, number | undefined, number | undefined, number | null]>([
    ['as the old one', 90 * HOUR, undefined, 90 * HOUR],
    ['forever, as the old one', undefined, undefined, null],
    ['as it is told', 90 * HOUR, 5 * HOUR, 5 * HOUR],
    ['as it is told, after one that never expires', undefined, 5 * HOUR, 5 * HOUR],
  ])('makes the new one last %s', async (_what, before, told, after) => {
    await tokens.create('ci', before);
    await rotate('ci', HOUR, told);
    expect((await lifetimes())[1]).toBe(after);
    // The lifetime is that of the newest, not of the one that a rotation has ended.
    await rotate('ci', 0);
    expect((await lifetimes())[2]).toBe(after);
  });

  it('never makes the old one last longer than it would have', async () => {
    await tokens.create('ci', HOUR);
    await rotate('ci', 24 * HOUR);
    expect((await lifetimes())[0]).toBe(HOUR);
  });
});

describe('a rotation whose secret is not handed over', () => {
  it('leaves the old tokens as they are, and nothing of the new one', async () => {
    await tokens.create('ci', HOUR);
    await tokens.rotate('ci', 24 * HOUR).then((token) => tokens.remove(token));
    expect(await lifetimes()).toEqual([HOUR]);
    await tokens.rotate('ci');
    expect(await lifetimes()).toEqual([HOUR, HOUR]);
  });

  it.each<[string, (token: IssuedToken) => Promise<unknown>]>([
    ['revoked', ({ id }) => tokens.revoke(String(id))],
    ['removed', (token) => tokens.remove(token)],
    ['expired', ({ id }) => store.getRepository(Token).update(id, { expiresAt: new Date() })],
  ])('ends none if the new one was %s meanwhile', async (_how, end) => {
    await tokens.create('ci');
    const token = await tokens.rotate('ci');
    await end(token);
    await expect(tokens.endReplaced(token, 0)).rejects.toThrow(
      `ci (${token.id}) was revoked or has expired meanwhile`,
    );
    expect((await tokens.list()).filter((token) => isActive(token))).toHaveLength(1);
  });
});

it('a rotation ends none that another one has issued meanwhile', async () => {
  await tokens.create('ci');
  const [first, second] = [await tokens.rotate('ci'), await tokens.rotate('ci')];
  await tokens.endReplaced(first, 0);
  const active = async () => (await tokens.list()).filter((token) => isActive(token));
  expect((await active()).map(({ id }) => id)).toEqual([first.id, second.id]);
  await tokens.endReplaced(second, 0);
  expect((await active()).map(({ id }) => id)).toEqual([second.id]);
});

it('a revocation of all revokes those that are not revoked, expired ones too, and returns them', async () => {
  for (const name of ['b', 'a', 'gone']) await tokens.create(name);
  await tokens.create('late', HOUR);
  await tokens.create('expired', -1);
  await tokens.revoke('gone');
  const [, , gone] = await tokens.list();
  expect((await tokens.revokeAll()).map(({ name }) => name)).toEqual(['b', 'a', 'late', 'expired']);
  const all = await tokens.list();
  expect(all[2]).toEqual(gone);
  for (const { revokedAt } of all) expect(revokedAt).not.toBeNull();
  await expect(tokens.revokeAll()).rejects.toThrow(/^no active token$/);
});

it('a summary counts the tokens that are active, and tells when the first of them expires', async () => {
  await tokens.create('lasting');
  await tokens.create('expired', -1);
  await tokens.create('revoked', HOUR);
  await tokens.revoke('revoked');
  expect(await tokens.summarize()).toEqual({ active: 1, nextExpiry: undefined });
  const { expiresAt } = await tokens.create('late', 2 * HOUR);
  expect(await tokens.summarize()).toEqual({ active: 2, nextExpiry: expiresAt });
});

describe('by a clock that is 100 days ahead, a token that the service accepts', () => {
  beforeEach(async () => {
    await tokens.create('ci', 90 * 24 * HOUR);
    const clock = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => clock() + 100 * 24 * HOUR);
  });
  afterEach(() => void jest.restoreAllMocks());

  const first = async () => (await tokens.list())[0];

  it.each([
    ['by its name', () => tokens.revoke('ci')],
    ['with all others', () => tokens.revokeAll()],
  ])('is revoked %s', async (_how, revoke) => {
    expect(await revoke()).toHaveLength(1);
    expect((await first())?.revokedAt).not.toBeNull();
  });

  it('is revoked by a rotation without an overlap', async () => {
    await tokens.create('ci');
    await rotate('ci', 0);
    expect((await first())?.revokedAt).not.toBeNull();
    expect((await tokens.list()).filter((token) => token.revokedAt === null)).toHaveLength(1);
  });
});
