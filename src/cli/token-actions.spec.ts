/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import type { Token } from '../auth/tokens/token.entity.js';
import { describeExpiry, formatTokens } from './token-actions.js';

const NEVER = { expiresAt: null, revokedAt: null, lastUsedAt: null };
const createdAt = new Date('2026-01-02T03:04:05.678Z');
const expiresAt = new Date('2026-04-02T03:04:05.678Z');
const end = expiresAt.getTime();
const DAYS = 86_400_000;
const TOKENS: Token[] = [
  { ...NEVER, id: 1, name: 'first', hash: 'h1', createdAt, lastUsedAt: expiresAt },
  { ...NEVER, id: 2, name: 'a-nursery', hash: 'h2', createdAt, expiresAt },
  { ...NEVER, id: 10, name: 'old', hash: 'h3', createdAt, expiresAt, revokedAt: createdAt },
];

describe('formatTokens', () => {
  it('aligns the columns and tells the state at a time', () => {
    expect(formatTokens(TOKENS, end - 15 * DAYS)).toBe(
      [
        'ID  NAME       STATE    CREATED (UTC)     EXPIRES (UTC)     LAST USED (UTC)',
        '1   first      active   2026-01-02 03:04  -                 2026-04-02 03:04',
        '2   a-nursery  active   2026-01-02 03:04  2026-04-02 03:04  -',
        '10  old        revoked  2026-01-02 03:04  2026-04-02 03:04  -',
      ].join('\n'),
    );
  });

  it.each([
    [end - 14 * DAYS, 'active'],
    [end - 14 * DAYS + 1, 'expires soon'],
    [end - 1, 'expires soon'],
    [end, 'expired'],
  ])('tells at %i that a token %s', (now, state) => {
    expect(formatTokens(TOKENS.slice(1, 2), now).split(/ {2,}|\n/)).toContain(state);
  });
});

it('describeExpiry tells which token it is, and when it expires', () => {
  expect(TOKENS.slice(0, 2).map(describeExpiry)).toEqual([
    'first (1) never expires',
    'a-nursery (2) expires 2026-04-02 03:04 UTC',
  ]);
});
