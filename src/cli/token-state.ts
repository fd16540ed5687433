import { isActive, isBefore, type Token } from '../auth/token.entity.js';

/** Milliseconds before its end from which on a token expires soon: 14 days. */
const SOON = 14 * 86_400_000;

/** How a token stands; `expires soon` is an active one. */
export type TokenState = 'active' | 'expires soon' | 'expired' | 'revoked';

export function stateOf(token: Token, now: number): TokenState {
  if (!isActive(token, now)) return token.revokedAt ? 'revoked' : 'expired';
  return isBefore(token.expiresAt, new Date(now + SOON)) ? 'expires soon' : 'active';
}

/** Those that expire soon and have no successor: another active one of the name, for longer. */
export function endingOf(tokens: readonly Token[], now: number): Token[] {
  const active = tokens.filter((token) => isActive(token, now));
  return active.filter(
    (token) =>
      stateOf(token, now) === 'expires soon' &&
      !active.some(
        ({ name, expiresAt }) => name === token.name && isBefore(token.expiresAt, expiresAt),
      ),
  );
}
