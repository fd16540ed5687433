/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { listExpiring, Token } from './token.entity.js';

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
