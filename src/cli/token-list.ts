import { isActive, isBefore, type Token } from '../auth/token.entity.js';

/** Milliseconds before its end from which on a token expires soon: 14 days. */
const SOON_MS = 14 * 86_400_000;

/** Tokens as a JSON array: times in ISO 8601, null where there is none; never a hash. */
export function asJson(tokens: readonly Token[], now: number): string {
  const rows = tokens.map((token) => {
    const { id, name, createdAt, expiresAt, revokedAt, lastUsedAt } = token;
    return { id, name, state: stateOf(token, now), createdAt, expiresAt, revokedAt, lastUsedAt };
  });
  return JSON.stringify(rows, null, 2);
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
  const table = [['ID', 'NAME', 'STATE', 'CREATED', 'EXPIRES', 'LAST USED'], ...rows];
  const width = (column: number) => Math.max(...table.map((row) => row[column]?.length ?? 0));
  const widths = table[0]?.map((_, column) => width(column)) ?? [];
  const lines = table.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
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
        `warning: ${name} (${id}) expires ${minute(expiresAt)} UTC: run plant-store token rotate ${name}`,
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
