/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { createSecret, hasSecretForm, listExpiring, Token } from './token.entity.js';

/** A secret of no store: issued secrets must stay valid from release to release. */
const KNOWN = 'plant_VAJQlawvy4z8HVxVz8DmmUp4xnqVj6cT0lPFDs';
const BASE_62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('a secret', () => {
  it('is plant_, 32 random characters and a checksum of 6', () => {
    const secrets = Array.from({ length: 1000 }, createSecret);
    for (const secret of secrets) {
      expect(secret).toMatch(/^plant_[0-9A-Za-z]{38}$/);
      expect(hasSecretForm(secret)).toBe(true);
    }
    expect(new Set(secrets).size).toBe(1000);
    const random = secrets.map((secret) => secret.slice(6, 38)).join('');
    expect(new Set(random)).toEqual(new Set(BASE_62));
  });

  it.each([
    ['plant_', 'the prefix alone'],
    [` ${KNOWN}`, 'with a blank before it'],
    [`${KNOWN}\n`, 'with a line end behind it'],
  ])('%j, %s, is invalid', (text) => expect(hasSecretForm(text)).toBe(false));

  it('with one character changed is invalid', () => {
    expect(hasSecretForm(KNOWN)).toBe(true);
    for (const [at, right] of Array.from(KNOWN).entries()) {
      for (const to of Array.from(`${BASE_62} \n\0\ud800é🌳`).filter((one) => one !== right))
        expect(hasSecretForm(KNOWN.slice(0, at) + to + KNOWN.slice(at + 1))).toBe(false);
    }
  });
});

describe('listExpiring', () => {
  const now = Date.now();
  const inDays = (days: number) => new Date(now + days * 86_400_000);
  const make = (changes: Partial<Token>) =>
    Object.assign(new Token(), { id: 2, name: 'a', revokedAt: null, ...changes });
  const ending = make({ expiresAt: inDays(1) });
  const next = (changes: Partial<Token> = {}) => make({ id: 3, expiresAt: inDays(60), ...changes });

  it.each<[string, Token[], number[]]>([
    ['a token that expires within 14 days', [ending], [2]],
    ['no token with more time', [make({ expiresAt: inDays(14) })], []],
    ['no token without an end', [make({ expiresAt: null })], []],
    ['no revoked token', [make({ expiresAt: inDays(1), revokedAt: new Date() })], []],
    ['no expired token', [make({ expiresAt: inDays(0) })], []],
    ['no token with an active successor', [ending, next()], []],
    ['no token whose successor has no end', [ending, next({ expiresAt: null })], []],
    ['one whose successor is revoked', [ending, next({ revokedAt: new Date() })], [2]],
    ['one if another name has a longer one', [ending, next({ name: 'b' })], [2]],
    ['the successor if both expire soon', [ending, next({ expiresAt: inDays(1.5) })], [3]],
  ])('lists %s', (_what, tokens, ids) => {
    expect(listExpiring(tokens, now).map(({ id }) => id)).toEqual(ids);
  });
});
