import type { Token } from '../auth/token.entity.js';
import { endingOf, stateOf } from './token-state.js';

/** Tokens as a JSON array: times in ISO 8601, null where there is none; never a hash. */
export function asJson(tokens: readonly Token[], now: number): string {
  const rows = tokens.map((token) => ({
    id: token.id,
    name: token.name,
    state: stateOf(token, now),
    createdAt: token.createdAt,
    expiresAt: token.expiresAt,
    revokedAt: token.revokedAt,
    lastUsedAt: token.lastUsedAt,
  }));
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
  return align([['ID', 'NAME', 'STATE', 'CREATED', 'EXPIRES', 'LAST USED'], ...rows]);
}

/** What an operator should do about tokens that expire soon, one line each. */
export function warningsOf(tokens: readonly Token[], now: number): string[] {
  return endingOf(tokens, now).map(
    ({ id, name, expiresAt }) =>
      `warning: ${name} (${id}) expires ${minute(expiresAt)} UTC: run plant-store token rotate ${name}`,
  );
}

function minute(time: Date | null): string {
  return time?.toISOString().slice(0, 16).replace('T', ' ') ?? '-';
}

function align(rows: readonly string[][]): string {
  const widths = rows[0]?.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths?.[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
