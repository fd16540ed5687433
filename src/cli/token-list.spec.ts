import { describe, expect, it } from '@jest/globals';
import type { Token } from '../auth/token.entity.js';
import { asJson, asTable } from './token-list.js';

const NEVER = { expiresAt: null, revokedAt: null, lastUsedAt: null };
const createdAt = new Date('2026-01-02T03:04:05.678Z');
const expiresAt = new Date('2026-04-02T03:04:05.678Z');
const TOKENS: Token[] = [
  { ...NEVER, id: 1, name: 'first', hash: 'h1', createdAt, lastUsedAt: expiresAt },
  { ...NEVER, id: 2, name: 'a-nursery', hash: 'h2', createdAt, expiresAt },
  { ...NEVER, id: 10, name: 'old', hash: 'h3', createdAt, expiresAt, revokedAt: createdAt },
];

describe('asTable', () => {
  it('aligns the columns and tells the state at a time', () => {
    expect(asTable(TOKENS, expiresAt.getTime() - 1)).toBe(
      [
        'ID  NAME       STATE    CREATED           EXPIRES           LAST USED',
        '1   first      holds    2026-01-02 03:04  -                 2026-04-02 03:04',
        '2   a-nursery  holds    2026-01-02 03:04  2026-04-02 03:04  -',
        '10  old        revoked  2026-01-02 03:04  2026-04-02 03:04  -',
      ].join('\n'),
    );
  });

  it('tells an expired token from its very end', () => {
    expect(asTable(TOKENS.slice(1, 2), expiresAt.getTime())).toMatch(/^2 .* expired /m);
  });

  it('is a head alone where no token is', () => {
    expect(asTable([])).toBe('ID  NAME  STATE  CREATED  EXPIRES  LAST USED');
  });
});

describe('asJson', () => {
  it('has ISO times and no hash', () => {
    expect(JSON.parse(asJson(TOKENS.slice(1, 2)))).toEqual([
      {
        id: 2,
        name: 'a-nursery',
        createdAt: '2026-01-02T03:04:05.678Z',
        expiresAt: '2026-04-02T03:04:05.678Z',
        revokedAt: null,
        lastUsedAt: null,
      },
    ]);
  });
});
