import { expiresSoon, isActive, type Token } from '../auth/tokens/token.entity.js';
import { alignColumns } from './terminal.js';

/** `nursery (3) expires 2026-04-02 03:04 UTC` */
export function describeExpiry({ id, name, expiresAt }: Token): string {
  const when = expiresAt ? `expires ${formatMinute(expiresAt)} UTC` : 'never expires';
  return `${name} (${id}) ${when}`;
}

/** A token for JSON: times in ISO 8601, null if there is none; never a hash. */
export function toJsonToken(token: Token) {
  const { id, name, createdAt, expiresAt, revokedAt, lastUsedAt } = token;
  return { id, name, state: describeState(token), createdAt, expiresAt, revokedAt, lastUsedAt };
}

export function formatTokens(tokens: readonly Token[], now = Date.now()): string {
  const rows = tokens.map((token) => {
    const times = [token.createdAt, token.expiresAt, token.lastUsedAt].map(formatMinute);
    return [String(token.id), token.name, describeState(token, now), ...times];
  });
  return alignColumns([
    ['ID', 'NAME', 'STATE', 'CREATED (UTC)', 'EXPIRES (UTC)', 'LAST USED (UTC)'],
    ...rows,
  ]);
}

/** A token that expires soon is active. */
function describeState(token: Token, now = Date.now()) {
  if (!isActive(token, now)) return token.revokedAt ? 'revoked' : 'expired';
  return expiresSoon(token, now) ? 'expires soon' : 'active';
}

/** A time in UTC to the minute, `2026-04-02 03:04`, or `-` if there is none. */
export function formatMinute(time: Date | null): string {
  return time?.toISOString().slice(0, 16).replace('T', ' ') ?? '-';
}
