/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { Token } from '../auth/tokens/token.entity.js';
import { describeExpiry, formatToken, formatTokens, listExpiryWarnings } from './token-table.js';

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

it('formatToken tells which token it is, and its state', () => {
  expect([end, end - 1].map((now) => TOKENS.map((token) => formatToken(token, now)))).toEqual([
    [
      'first (1): active',
      'a-nursery (2): expired 2026-04-02 03:04 UTC',
      'old (10): revoked 2026-01-02 03:04 UTC',
    ],
    expect.arrayContaining(['a-nursery (2): expires soon, until 2026-04-02 03:04 UTC']),
  ]);
});

it('describeExpiry tells until when the old token of a rotation works', () => {
  const until = 'the old one works until 2026-01-03 03:04 UTC at most';
  const [first] = TOKENS as [Token];
  expect(describeExpiry(first, DAYS)).toBe(`first (1) never expires; ${until}`);
});

describe('listExpiryWarnings', () => {
  const [, ending] = TOKENS as [Token, Token];
  const at = (days: number) => new Date(end + days * DAYS);
  const but = (changes: Partial<Token>) => Object.assign(new Token(), ending, changes);
  const LONGER = { id: 3, expiresAt: null };
  const OF_2 =
    'a-nursery (2) expires 2026-04-02 03:04 UTC: run bin/plant-store token rotate a-nursery';

  it.each<[string, Token[], string[]]>([
    ['a token that expires soon', [ending], [OF_2]],
    ['no token with more time', [but({ expiresAt: at(14) })], []],
    ['no token without an end', [but({ expiresAt: null })], []],
    ['no revoked token', [but({ revokedAt: createdAt })], []],
    ['no expired token', [but({ expiresAt: at(-1) })], []],
    ['no token with an active successor', [ending, but({ id: 3, expiresAt: at(60) })], []],
    ['no token whose successor has no end', [ending, but(LONGER)], []],
    ['one whose successor is revoked', [ending, but({ ...LONGER, revokedAt: createdAt })], [OF_2]],
    ['one if another name has a longer one', [ending, but({ ...LONGER, name: 'b' })], [OF_2]],
    ['the successor if both expire soon', [but({ id: 3, expiresAt: at(-0.5) }), ending], [OF_2]],
  ])('warns of %s', (_what, tokens, warnings) => {
    expect(listExpiryWarnings(tokens, end - DAYS + 1)).toEqual(warnings);
  });
});
