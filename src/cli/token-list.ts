import { isActive, isBefore, type Token } from '../auth/token.entity.js';
import { alignColumns } from './session.js';

/** Milliseconds before its end from which on a token expires soon: 14 days. */
const SOON_MS = 14 * 86_400_000;

/** A token for JSON: times in ISO 8601, null where there is none; never a hash. */
export function toRow(token: Token, now: number) {
  const { id, name, createdAt, expiresAt, revokedAt, lastUsedAt } = token;
  return { id, name, state: stateOf(token, now), createdAt, expiresAt, revokedAt, lastUsedAt };
}

/** Tokens as a table to read, one a line under a head; times in UTC to the minute. */
export function asTable(tokens: readonly Token[], now: number): string {
  const rows = tokens.map((token) => [
    String(token.id),
    token.name,
    stateOf(token, now),
    minute(token.createdAt),
    minute(token.expiresAt),
    minute(token.lastUsedAt),
  ]);
  return alignColumns([['ID', 'NAME', 'STATE', 'CREATED', 'EXPIRES', 'LAST USED'], ...rows]);
}

/** Which token it is and its state, in one line: `nursery (3): active, until 2026-04-02 03:04 UTC`. */
export function asLine(token: Token, now: number): string {
  const { id, name, revokedAt, expiresAt } = token;
  const state = stateOf(token, now);
  const end = revokedAt ?? expiresAt;
  const when = end === null ? '' : `${isActive(token, now) ? ', until' : ''} ${minute(end)} UTC`;
  return `${name} (${id}): ${state}${when}`;
}

/**
 * What an operator should do about tokens that expire soon, one line each. Those with a successor, an active
 * one of the same name that lasts longer, are left out.
 */
export function warningsOf(tokens: readonly Token[], now: number): string[] {
  const active = tokens.filter((token) => isActive(token, now));
  const hasSuccessor = ({ name, expiresAt }: Token) =>
    active.some((other) => other.name === name && isBefore(expiresAt, other.expiresAt));
  return active
    .filter((token) => stateOf(token, now) === 'expires soon' && !hasSuccessor(token))
    .map(
      ({ id, name, expiresAt }) =>
        `warning: ${name} (${id}) expires ${minute(expiresAt)} UTC: run npx plant-store token rotate ${name}`,
    );
}

/** A token that expires soon is active. */
function stateOf(token: Token, now: number): 'active' | 'expires soon' | 'expired' | 'revoked' {
  if (!isActive(token, now)) return token.revokedAt ? 'revoked' : 'expired';
  return isBefore(token.expiresAt, new Date(now + SOON_MS)) ? 'expires soon' : 'active';
}

function minute(time: Date | null): string {
  return time?.toISOString().slice(0, 16).replace('T', ' ') ?? '-';
}
