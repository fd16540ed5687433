import { holds, type Token } from '../auth/token.entity.js';

/** Tokens as a JSON array: times in ISO 8601, null where there is none; never a hash. */
export function asJson(tokens: readonly Token[]): string {
  const rows = tokens.map(({ id, name, createdAt, expiresAt, revokedAt, lastUsedAt }) => ({
    id,
    name,
    createdAt,
    expiresAt,
    revokedAt,
    lastUsedAt,
  }));
  return JSON.stringify(rows, null, 2);
}

/** Tokens as a table to read, one a line under a head; times in UTC to the minute. */
export function asTable(tokens: readonly Token[], now = Date.now()): string {
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

function stateOf(token: Token, now: number): string {
  if (holds(token, now)) return 'holds';
  return token.revokedAt ? 'revoked' : 'expired';
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
