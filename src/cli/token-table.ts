import {
  EXPIRES_SOON_MS,
  hasSuccessor,
  isActive,
  isBefore,
  type Token,
} from '../auth/tokens/token.entity.js';
import { COMMAND } from '../config/config.js';
import { alignColumns } from './terminal.js';

/** `nursery (3) expires 2026-04-02 03:04 UTC` @param overlap ms until the old token of a rotation stops */
export function describeExpiry(token: Token, overlap?: number): string {
  const { id, name, createdAt, expiresAt } = token;
  const when = expiresAt ? `expires ${formatMinute(expiresAt)} UTC` : 'never expires';
  const end = new Date(createdAt.getTime() + (overlap ?? 0));
  const until = overlap === 0 ? 'no longer' : `until ${formatMinute(end)} UTC at most`;
  return `${name} (${id}) ${when}${overlap === undefined ? '' : `; the old one works ${until}`}`;
}

/** A token for JSON: times in ISO 8601, null if there is none; never a hash. */
export function toJsonToken(token: Token) {
  const { id, name, createdAt, expiresAt, revokedAt, lastUsedAt } = token;
  const state = describeState(token, Date.now());
  return { id, name, state, createdAt, expiresAt, revokedAt, lastUsedAt };
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

/** Formats which token it is and its state: `nursery (3): active, until 2026-04-02 03:04 UTC`. */
export function formatToken(token: Token, now = Date.now()): string {
  const end = token.revokedAt ?? token.expiresAt;
  const until = isActive(token, now) ? ', until' : '';
  const when = end === null ? '' : `${until} ${formatMinute(end)} UTC`;
  return `${token.name} (${token.id}): ${describeState(token, now)}${when}`;
}

/** Warnings with the command to run, for each token that expires soon and has no successor. */
export function listExpiryWarnings(tokens: readonly Token[], now = Date.now()): string[] {
  const active = tokens.filter((token) => isActive(token, now));
  return active
    .filter((token) => describeState(token, now) === 'expires soon' && !hasSuccessor(token, active))
    .map((token) => `${describeExpiry(token)}: run ${COMMAND} token rotate ${token.name}`);
}

/** A token that expires soon is active. */
function describeState(token: Token, now: number) {
  if (!isActive(token, now)) return token.revokedAt ? 'revoked' : 'expired';
  return isBefore(token.expiresAt, new Date(now + EXPIRES_SOON_MS)) ? 'expires soon' : 'active';
}

/** A time in UTC to the minute, `2026-04-02 03:04`, or `-` if there is none. */
export function formatMinute(time: Date | null): string {
  return time?.toISOString().slice(0, 16).replace('T', ' ') ?? '-';
}
